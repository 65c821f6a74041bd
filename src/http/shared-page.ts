import { escapeHtml } from '../views/escape-html.ts';
import type { SharedSession } from '../protocol/uhp/session.ts';

/** A published session for people: no script, nothing fetched, and every word of it escaped. */
export function sharedPage({ title, created_at, turns, next_cursor: next }: SharedSession): string {
  const name = escapeHtml(title === '' ? 'A session' : title);
  // Most are called what their first message says, and that stands right below.
  const isSaid = turns[0]?.user.trim() === title;
  const heading = isSaid ? `Session of ${new Date(created_at * 1_000).toISOString().slice(0, 10)}` : name;
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex"><title>${name}</title><style>${style}</style></head>
<body><h1>${heading}</h1>
${turns.map(turnHtml).join('\n')}
${next === null ? '' : `<p><a rel="next" href="?cursor=${escapeHtml(next)}">More</a></p>`}
</body></html>
`;
}

const style = `
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 46rem; margin: 2rem auto; padding: 0 1rem; color-scheme: light dark }
section { border-top: 1px solid #8886; padding: .5rem 0 }
pre { white-space: pre-wrap; overflow-wrap: anywhere; font: inherit; margin: .5rem 0 }
.user { font-weight: 600 }
.tools, .files, .status { font-size: .85rem; opacity: .8; overflow-wrap: anywhere }`;

type Turn = SharedSession['turns'][number];

function turnHtml({ status, user, assistant, tools, files }: Turn): string {
  const called = tools.map(
    ({ name, arguments: args }) => `<li><code>${escapeHtml(name)} ${escapeHtml(args)}</code></li>`,
  );
  const made = files.map(({ filename, bytes }) => `<li>${escapeHtml(filename)} (${bytes} bytes)</li>`);
  return [
    '<section>',
    `<pre class="user">${escapeHtml(user)}</pre>`,
    called.length === 0 ? '' : `<ul class="tools">${called.join('')}</ul>`,
    `<pre>${escapeHtml(assistant)}</pre>`,
    made.length === 0 ? '' : `<ul class="files">${made.join('')}</ul>`,
    status === 'completed' ? '' : `<p class="status">${status.replaceAll('_', ' ')}</p>`,
    '</section>',
  ].join('');
}
