import { escapeHtml } from '../views/escape-html.ts';
import type { SharedSession } from '../protocol/uhp/session.ts';

/** A published session for people: no script, nothing fetched, and every word of it escaped. */
export function sharedPage({ title, created_at, turns, next_cursor: next }: SharedSession): string {
  const name = title === '' ? 'A session' : title;
  const day = new Date(created_at * 1_000).toISOString().slice(0, 10);
  return pageOf(
    name,
    `<p class="day">${day}</p>
${turns.map(turnHtml).join('\n')}
${next === null ? '' : `<p><a rel="next" href="?cursor=${escapeHtml(next)}">More</a></p>`}`,
  );
}

/** In place of one that is not shown, or no more. */
export function noSharedPage(): string {
  return pageOf('Nothing is shared here', '<p>The link is not right, or its owner has stopped sharing.</p>');
}

function pageOf(title: string, body: string): string {
  // An icon that is empty keeps browsers from asking for one.
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex"><link rel="icon" href="data:,"><title>${escapeHtml(title)}</title><style>${style}</style></head>
<body><h1>${escapeHtml(title)}</h1>
${body}
</body></html>
`;
}

const style = `
:root { color-scheme: light dark }
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 46rem; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.5rem; line-height: 1.3; overflow-wrap: anywhere }
section { border-top: 1px solid #8886; padding: .5rem 0 }
pre { white-space: pre-wrap; overflow-wrap: anywhere; font: inherit; margin: .25rem 0 .75rem }
.who { font-size: .85rem; font-weight: 600; margin: .5rem 0 0 }
.user { background: #8882; border-radius: .5rem; padding: .5rem .75rem }
.day, .tools, .files, .status { font-size: .85rem; opacity: .8; overflow-wrap: anywhere }`;

type Turn = SharedSession['turns'][number];

function turnHtml({ status, user, assistant, tools, files }: Turn): string {
  const called = tools.map(
    ({ name, arguments: args }) => `<li><code>${escapeHtml(name)} ${escapeHtml(args)}</code></li>`,
  );
  const made = files.map(({ filename, bytes }) => `<li>${escapeHtml(filename)} (${bytes} bytes)</li>`);
  return [
    '<section>',
    `<h2 class="who">Asked</h2><pre class="user">${escapeHtml(user)}</pre>`,
    called.length === 0 ? '' : `<ul class="tools">${called.join('')}</ul>`,
    assistant === '' ? '' : `<h2 class="who">The agent</h2><pre>${escapeHtml(assistant)}</pre>`,
    made.length === 0 ? '' : `<ul class="files">${made.join('')}</ul>`,
    status === 'completed' ? '' : `<p class="status">${status.replaceAll('_', ' ')}</p>`,
    '</section>',
  ].join('');
}
