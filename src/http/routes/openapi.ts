import { openApiDocument } from '../../protocol/openapi/document.ts';
import { referencePage } from '../reference-page.ts';
import type { Discovery } from '../../protocol/uhp/discovery.ts';
import type { Route } from '../route.ts';

const own = '/v1/reins/openapi.json';

/** The description of all routes, for programs and for people: open, as discovery is. */
export function openApiRoutes(routes: readonly Route[], { version }: Discovery['implementation']): readonly Route[] {
  const open = new Set([`GET ${own}`, 'GET /docs']);
  for (const { path, verbs } of routes)
    for (const [method, verb] of Object.entries(verbs)) if (verb.open === true) open.add(`${method} ${path}`);
  const document = openApiDocument({ version, open });
  const page = referencePage(document);
  return [
    { path: own, verbs: { GET: { open: true, handle: () => document } } },
    {
      path: '/docs',
      verbs: {
        GET: {
          open: true,
          handle({ reply }) {
            const policy = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'";
            reply.headers({ 'Content-Security-Policy': policy, 'X-Frame-Options': 'DENY' });
            return reply.type('text/html; charset=utf-8').send(page);
          },
        },
      },
    },
  ];
}
