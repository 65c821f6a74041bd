import { decodeBody, readBody } from '../net/read-body.ts';
import { head, toWellFormed } from '../../core/text.ts';
import { htmlToText } from '../net/html-text.ts';
import { httpUrl, openUrl, type OpenedUrl } from '../net/open-url.ts';
import { isJsonObject } from '../../core/json.ts';
import { objectSchema } from './file-tool.ts';
import { UrlRefusal, type HostRules } from '../../net/public-host.ts';
import type { Tool, ToolOutput } from '../tool.ts';

/** After unpacking. */
const maxBytes = 5 * 1024 * 1024;
const maxErrorUnits = 2000;

const headers = {
  accept: 'text/html, application/xhtml+xml, text/*, application/json, application/xml;q=0.9, image/*;q=0.8, */*;q=0.5',
  'user-agent': 'reins',
};

/** `fetch_url`: public hosts only, but for those that `allowHosts` names (UR-52). */
export function createFetchUrl(rules: HostRules = {}): Tool {
  return {
    name: 'fetch_url',
    description:
      'Fetches a public http or https URL with GET and gives its text; of an HTML page the readable text with its links, of an image the image.',
    inputSchema: objectSchema({ url: { type: 'string', description: 'The complete URL.' } }, ['url']),
    useKind: 'network',
    replay: 'safe',
    timeoutSeconds: 30,
    async run(input, { signal }) {
      const given = isJsonObject(input) ? input['url'] : undefined;
      try {
        await using opened = await openUrl(httpUrl(typeof given === 'string' ? given : ''), {
          ...rules,
          headers,
          signal,
        });
        return await present(opened);
      } catch (error) {
        signal.throwIfAborted();
        const sentence = explain(error);
        if (sentence === undefined) throw error;
        return { content: sentence, isError: true };
      }
    },
  };
}

async function present({ url, response }: OpenedUrl): Promise<ToolOutput> {
  const contentType = response.headers.get('content-type') ?? '';
  const mediaType = head(contentType.split(';', 1)[0]?.trim().toLowerCase() || 'no content type', 100);
  const heading = `${url.href}\nStatus: ${response.status} (${mediaType})\n\n`;
  const kind = kindOf(mediaType);
  if (kind === 'binary' || (kind === 'image' && !response.ok))
    return {
      content: `${heading}[This is no text and was not read: ${sizeOf(response.headers)}.]`,
      isError: !response.ok,
    };
  const body = await readBody(response, maxBytes);
  const note = body.cut ? '\n[Only the first 5 MiB were read.]' : '';
  if (kind === 'image')
    return body.cut
      ? { content: `${heading}[The image has more than 5 MiB and was not read.]` }
      : { content: `${heading}[The image has ${body.bytes.length} bytes.]`, media: [{ mediaType, data: body.bytes }] };
  const text = toWellFormed(decodeBody(body, contentType));
  const shown = kind === 'html' ? pageText(text, url) : text;
  if (!response.ok) return { content: heading + head(shown, maxErrorUnits), isError: true };
  return { content: heading + (shown === '' ? '[There is no text.]' : shown) + note };
}

function kindOf(mediaType: string): 'html' | 'text' | 'image' | 'binary' {
  if (mediaType === 'text/html' || mediaType === 'application/xhtml+xml') return 'html';
  const isText = /^text\/|^application\/(x-|ld\+)?(json|jsonl|ndjson|xml|yaml|toml|javascript|sql)$|\+(json|xml|yaml)$/;
  if (isText.test(mediaType)) return 'text';
  return mediaType.startsWith('image/') ? 'image' : 'binary';
}

function sizeOf(answered: { get(name: string): string | null }): string {
  const length = answered.get('content-encoding') === null ? answered.get('content-length') : null;
  return length === null ? 'its size is unknown' : `it has ${length} bytes`;
}

function pageText(html: string, url: URL): string {
  const { title, text } = htmlToText(html, url);
  return title === '' ? text : `Title: ${title}\n\n${text}`;
}

/** A sentence for the model, or undefined for a fault of ours: a failed request always has a cause or a code. */
function explain(error: unknown): string | undefined {
  if (error instanceof UrlRefusal) return error.message;
  let current = error;
  for (let depth = 0; depth < 5 && current instanceof Error; depth++, current = current.cause)
    if ('code' in current && typeof current.code === 'string') return `The URL could not be fetched (${current.code}).`;
  return error instanceof Error && error.cause !== undefined ? 'The URL could not be fetched.' : undefined;
}
