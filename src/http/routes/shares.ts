// Published sessions (U-084, U-380 to U-385): the shares are their owner's, what a link shows is everybody's.

import { idOf, type OpenCall, type Route } from '../route.ts';
import { NotFoundError } from '../../core/errors.ts';
import { oneHeader } from '../door.ts';
import { parseShare, type SessionShare } from '../../protocol/uhp/session.ts';
import { readShare, readShared, revokeShare, shareSession } from '../../tasks/share-session.ts';
import { queryOf } from '../request-fields.ts';
import { noSharedPage, sharedPage } from '../shared-page.ts';
import type { Services } from '../../tasks/services.ts';
import type { ShareRecord } from '../../stores/session-store.ts';

export function shareRoutes(services: Services): readonly Route[] {
  return [
    {
      path: '/v1/sessions/:id/share',
      verbs: {
        GET: {
          scope: 'read',
          handle: async (call) => toShare(await readShare(services, call.caller.principal, idOf(call)), true),
        },
        POST: {
          scope: 'tasks',
          audit: 'share.set',
          async handle(call) {
            const isOn = parseShare(call.request.body);
            const change = isOn ? shareSession : revokeShare;
            return toShare(await change(services, call.caller.principal, idOf(call)), isOn);
          },
        },
        DELETE: {
          scope: 'tasks',
          audit: 'share.revoke',
          handle: async (call) => toShare(await revokeShare(services, call.caller.principal, idOf(call)), false),
        },
      },
    },
    { path: '/v1/shared/:secret', verbs: { GET: { open: true, handle: (call) => show(services, call) } } },
  ];
}

function toShare({ shareId, secret, createdAtMs }: ShareRecord, enabled: boolean): SessionShare {
  return {
    id: shareId,
    object: 'session.share',
    url: `/v1/shared/${secret}`,
    enabled,
    created_at: Math.floor(createdAtMs / 1_000),
  };
}

async function show(services: Services, call: OpenCall): Promise<unknown> {
  const { request, reply } = call;
  // The link is its own credential: it goes to nobody else, and stays in no cache.
  reply.headers({ 'Cache-Control': 'no-store', 'Referrer-Policy': 'no-referrer', Vary: 'Accept' });
  const reading = readShared(services, request.params['secret'] ?? '', queryOf(call, 'cursor') || null);
  if (!/\btext\/html\b/i.test(oneHeader(request.headers.accept) ?? '')) return reading;
  reply.headers({
    'Content-Security-Policy':
      "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    'X-Frame-Options': 'DENY',
    'X-Content-Type-Options': 'nosniff',
  });
  reply.type('text/html; charset=utf-8');
  try {
    return reply.send(sharedPage(await reading));
  } catch (error) {
    if (!(error instanceof NotFoundError)) throw error;
    return reply.status(404).send(noSharedPage());
  }
}
