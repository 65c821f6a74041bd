// The allow-list (C-060): what is not named here does not reach the page, whatever the markdown or its renderer made.

import DOMPurify from 'dompurify';

const tags =
  'p br hr h1 h2 h3 h4 h5 h6 ul ol li blockquote pre code em strong del a table thead tbody tr th td input'.split(' ');
const attributes = 'href title class align type checked disabled start rel target'.split(' ');
/** `http(s)`, `mailto`, `#…`, relative. DOMPurify takes blanks and control characters out before it asks. */
const addresses = /^(?:(?:https?|mailto):|[^a-z]|[a-z+.-]+(?:[^a-z+.\-:]|$))/i;

let isSetUp = false;

/** A tree that is not in the page yet. As nodes, not as text: nothing is parsed a second time, and no HTML sink is needed. */
export function sanitize(html: string): DocumentFragment {
  if (!isSetUp) setUp();
  isSetUp = true;
  return DOMPurify.sanitize(html, { RETURN_DOM_FRAGMENT: true });
}

function setUp(): void {
  DOMPurify.setConfig({
    ALLOWED_TAGS: tags,
    ALLOWED_ATTR: attributes,
    ALLOWED_URI_REGEXP: addresses,
    ALLOW_DATA_ATTR: false,
    ALLOW_ARIA_ATTR: false,
    RETURN_DOM_FRAGMENT: true,
  });
  DOMPurify.addHook('uponSanitizeAttribute', (_element, attribute) => {
    if (attribute.attrName === 'class') attribute.keepAttr = /^language-\S+$/.test(attribute.attrValue);
  });
  DOMPurify.addHook('afterSanitizeAttributes', (element) => {
    if (element instanceof HTMLAnchorElement)
      Object.assign(element, { rel: 'noopener noreferrer nofollow', target: '_blank' });
    if (element instanceof HTMLInputElement) Object.assign(element, { type: 'checkbox', disabled: true });
  });
}
