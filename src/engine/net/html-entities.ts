/** The names of U+00A0 to U+00FF, in order. */
const latin =
  'nbsp iexcl cent pound curren yen brvbar sect uml copy ordf laquo not shy reg macr deg plusmn sup2 sup3 acute micro para middot cedil sup1 ordm raquo frac14 frac12 frac34 iquest Agrave Aacute Acirc Atilde Auml Aring AElig Ccedil Egrave Eacute Ecirc Euml Igrave Iacute Icirc Iuml ETH Ntilde Ograve Oacute Ocirc Otilde Ouml times Oslash Ugrave Uacute Ucirc Uuml Yacute THORN szlig agrave aacute acirc atilde auml aring aelig ccedil egrave eacute ecirc euml igrave iacute icirc iuml eth ntilde ograve oacute ocirc otilde ouml divide oslash ugrave uacute ucirc uuml yacute thorn yuml';

const named = new Map<string, string>([
  ...latin.split(' ').map((name, index) => [name, String.fromCodePoint(0xa0 + index)] as const),
  ...Object.entries({ amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: ' ', shy: '', euro: '€', trade: '™' }),
  ...Object.entries({ ndash: '–', mdash: '—', lsquo: '‘', rsquo: '’', sbquo: '‚', ldquo: '“', rdquo: '”', bdquo: '„' }),
  ...Object.entries({ hellip: '…', bull: '•', larr: '←', rarr: '→', uarr: '↑', darr: '↓', le: '≤', ge: '≥', ne: '≠' }),
  ...Object.entries({ ensp: ' ', emsp: ' ', thinsp: ' ', zwnj: '', zwj: '', lrm: '', rlm: '', minus: '−', infin: '∞' }),
]);

/** Text with its character references resolved. An unknown name stays as it is written. */
export function decodeEntities(text: string): string {
  return text.replaceAll(/&([A-Za-z][A-Za-z\d]{1,10}|#\d{1,7}|#[xX][\dA-Fa-f]{1,6});/g, (whole, reference: string) => {
    if (!reference.startsWith('#')) return named.get(reference) ?? whole;
    const point = Number(`0${reference.slice(1)}`);
    return point === 0 || point > 0x10ffff ? '\uFFFD' : String.fromCodePoint(point).toWellFormed();
  });
}
