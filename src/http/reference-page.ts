import { escapeHtml } from '../views/escape-html.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../core/json.ts';

/** The description of the interface for people: one page, no script, nothing fetched. */
export function referencePage({ paths = {}, components = {} }: JsonObject): string {
  const operations = Object.entries(objectOf(paths)).flatMap(([path, methods]) =>
    Object.entries(objectOf(methods)).map(([method, operation]) => section(method, path, objectOf(operation))),
  );
  const schemas = Object.entries(objectOf(objectOf(components)['schemas'])).map(
    ([name, schema]) =>
      `<details id="${escapeHtml(name)}"><summary><code>${escapeHtml(name)}</code></summary>${json(schema)}</details>`,
  );
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Reins: HTTP reference</title><style>${style}</style></head><body>
<h1>HTTP reference</h1>
<p>Every request but those marked <i>open</i> carries <code>Authorization: Bearer KEY</code>. The same as
<a href="/v1/reins/openapi.json">OpenAPI 3.1</a>.</p>
${operations.join('\n')}
<h2>Objects</h2>
${schemas.join('\n')}
</body></html>
`;
}

const style = `
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color-scheme: light dark }
details { border-top: 1px solid #8886; padding: .4rem 0 }
pre { overflow-x: auto; font-size: .85rem }
b { display: inline-block; min-width: 4.5rem }`;

function section(method: string, path: string, operation: JsonObject): string {
  const { summary = '', parameters = [], requestBody, responses = {}, security } = operation;
  const names = (Array.isArray(parameters) ? parameters : []).map((each) => {
    const { name = '', in: where = '' } = objectOf(each);
    return `<li><code>${escaped(name)}</code> (${escaped(where)})</li>`;
  });
  const { default: refusal, ...answers } = objectOf(responses);
  return `<details><summary><b>${escapeHtml(method.toUpperCase())}</b> <code>${escapeHtml(path)}</code> ${escaped(summary)}${
    security === undefined ? '' : ' <i>open</i>'
  }</summary>
<ul>${names.join('')}</ul>
${requestBody === undefined ? '' : `<h4>Body</h4>${json(requestBody)}`}
<h4>Answer</h4>${json(answers)}
<p>${escaped(objectOf(refusal)['description'])}</p></details>`;
}

/** Of what is no text, nothing. */
function escaped(value: JsonValue | undefined): string {
  return typeof value === 'string' ? escapeHtml(value) : '';
}

/** References lead to the object. */
function json(value: JsonValue | undefined): string {
  const text = escapeHtml(JSON.stringify(value ?? null, null, 2));
  return `<pre>${text.replaceAll(/#\/components\/schemas\/(\w+)/g, '<a href="#$1">$1</a>')}</pre>`;
}

function objectOf(value: JsonValue | undefined): JsonObject {
  return value !== undefined && isJsonObject(value) ? value : {};
}
