import { namesVersion } from './send-file.ts';
import { oneHeader } from './door.ts';
import type { ConsoleFile, Encoding } from './console-files.ts';
import type { OpenCall } from './route.ts';

/** What the page may do (C-062): nothing but what came with it, and requests to this very origin. */
export const consolePolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' blob:",
  "font-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  'trusted-types reins dompurify',
].join('; ');

/** @param caching  `forever`: its name changes with its content. `ask`: each time whether it is still this one. */
export function sendConsoleFile({ request, reply }: OpenCall, file: ConsoleFile, caching: 'forever' | 'ask'): unknown {
  const { type, etag, body, encoded } = file;
  const bareTag = etag.replace(/^W\//, '');
  reply.headers({
    'Content-Security-Policy': consolePolicy,
    'Cross-Origin-Opener-Policy': 'same-origin',
    'Cache-Control': caching === 'forever' ? 'public, max-age=31536000, immutable' : 'no-cache',
    ETag: etag,
    Vary: 'Accept-Encoding',
  });
  if (namesVersion(oneHeader(request.headers['if-none-match']), bareTag)) return reply.code(304).send();
  const encoding = chosenEncoding(oneHeader(request.headers['accept-encoding']));
  const bytes = encoding === null ? undefined : encoded[encoding];
  if (encoding !== null && bytes !== undefined) reply.header('Content-Encoding', encoding);
  return reply.type(type).send(bytes ?? body);
}

/** The best that is accepted; null: none is. */
export function chosenEncoding(header: string | undefined): Encoding | null {
  const offers = (header ?? '').toLowerCase().split(',');
  const accepted = new Map(
    offers.map((offer) => {
      const [name = '', ...parameters] = offer.split(';').map((part) => part.trim());
      return [name, !parameters.some((each) => /^q=0(?:\.0*)?$/.test(each))];
    }),
  );
  if (accepted.get('br') === true) return 'br';
  return accepted.get('gzip') === true ? 'gzip' : null;
}
