// UT-12, B124, B125: for every route, and every place in which a name may stand, the answer for what is another's is that for
// what never was; and whatever is asked, nothing of the other changes.
//
// The table below has to name each route of the server: who adds one says here where names stand in it.

import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { routesOf } from '../src/http/server.ts';
import {
  startTwoPrincipals,
  unknownOf,
  type Ids,
  type Principal,
  type TwoPrincipals,
} from './support/two-principals.ts';
import type { ConsoleParts } from '../src/http/routes/console.ts';
import type { Services } from '../src/tasks/services.ts';
import type { Webhooks } from '../src/webhooks/manage-webhooks.ts';

interface Ask {
  readonly path: string;
  readonly body?: object;
  readonly headers?: Readonly<Record<string, string>>;
  /** With the scope `admin`. */
  readonly as?: 'admin';
  /** It tells even its owner nothing: a new name is as good. */
  readonly free?: true;
}

const task = (input: unknown, more: object = {}) => ({ input, ...more });
const withFile = (part: object) => task([{ role: 'user', content: [{ type: 'input_text', text: 'x' }, part] }]);
/** Bodies of a task that name something, for a session that is the asker's own or for none. */
function tasksNaming(i: Ids): readonly object[] {
  return [
    task('x', { metadata: { harness_id: i.harness } }),
    withFile({ type: 'input_file', file_id: i.upload }),
    withFile({ type: 'input_file', file_id: i.artifact }),
    withFile({ type: 'input_image', file_id: i.upload }),
  ];
}

function harnessesNaming(i: Ids, own: Ids): readonly object[] {
  const server = { name: 's', url: 'https://mcp.example.invalid/' };
  return [
    { skills: [{ name: i.skill, blob: i.skillBlob }] },
    { skills: [{ name: i.skill, blob: i.pluginBlob }] },
    { plugins: [{ blob: i.pluginBlob }] },
    { mcpServers: [{ ...server, auth: i.tokenSecret, headers: { 'X-Key': own.headerSecret } }] },
    { mcpServers: [{ ...server, auth: own.tokenSecret, headers: { 'X-Key': i.headerSecret } }] },
  ];
}

const chatMessage = { id: 'm', role: 'user', parts: [{ type: 'text', text: 'x' }] };

/** @param i  The names that are asked for. @param own  What the asker has. */
function asksOf(i: Ids, own: Ids): Readonly<Record<string, readonly Ask[]>> {
  const file = {
    contents: `/v1/containers/${i.container}/files/${i.artifact}`,
    own: `/v1/containers/${own.container}/files/${i.artifact}`,
  };
  const [approval, webhook] = [`/v1/reins/approvals/${i.approval}`, `/v1/reins/webhooks/${i.webhook}`];
  const verdicts = { decide: { decision: 'approve' }, answer: { declined: true }, resolve: { action: 'abort' } };
  const verdict = (verb: keyof typeof verdicts): readonly Ask[] => [
    { path: `${approval}/${verb}`, body: verdicts[verb] },
  ];
  const at = (...paths: readonly string[]): readonly Ask[] => paths.map((path) => ({ path }));
  const freely = (...paths: readonly string[]): readonly Ask[] => paths.map((path) => ({ path, free: true }));
  const byAdmin = (path: string, body?: object): Ask => ({
    path,
    as: 'admin',
    ...(body === undefined ? {} : { body }),
  });
  return {
    // Nothing is named, or nobody's.
    'GET /healthz': [],
    'GET /readyz': [],
    'GET /metrics': [],
    'GET /v1/uhp': [],
    'GET /v1/models': [],
    'GET /docs': [],
    'GET /': [],
    'GET /s/:id': [],
    'GET /assets/:name': [],
    'GET /v1/reins/console/session': [],
    'POST /v1/reins/console/session': [],
    'DELETE /v1/reins/console/session': [],
    'GET /v1/reins/openapi.json': [],
    'POST /v1/files': [],
    'GET /v1/reins/usage': [],
    'POST /api/agent': [],
    'POST /api/chat': [{ path: '/api/chat', body: { id: i.session, messages: [chatMessage] } }],
    'GET /api/chat/:id/stream': at(`/api/chat/${i.session}/stream`),
    'POST /api/chat/:id/stop': at(`/api/chat/${i.session}/stop`),
    'GET /api/chat/:id/messages': at(`/api/chat/${i.session}/messages`),
    // The link is its own credential: who has it may read (U-084).
    'GET /v1/shared/:secret': [],
    // Of the whole server, for admins (UR-25, UR-42): everybody else is refused, whatever is named.
    'GET /v1/reins/keys': at('/v1/reins/keys'),
    'POST /v1/reins/keys': [{ path: '/v1/reins/keys', body: { principal: 'alice' } }],
    'DELETE /v1/reins/keys/:id': at(`/v1/reins/keys/${i.apiKey}`),
    'GET /v1/reins/audit': at(`/v1/reins/audit?principal=alice`, `/v1/reins/audit?cursor=${i.delivery}`),

    'GET /v1/harnesses': at('/v1/harnesses'),
    'POST /v1/harnesses': harnessesNaming(i, own).map((body) => ({
      path: '/v1/harnesses',
      body: { base: 'native', ...body },
      // A new harness has no secret yet.
      ...('mcpServers' in body ? { free: true as const } : {}),
    })),
    'GET /v1/harnesses/:id': at(`/v1/harnesses/${i.harness}`),
    'PUT /v1/harnesses/:id': [
      { path: `/v1/harnesses/${i.harness}`, body: { name: 'taken' } },
      ...harnessesNaming(i, own).map((body) => ({ path: `/v1/harnesses/${own.harness}`, body })),
    ],
    'DELETE /v1/harnesses/:id': at(`/v1/harnesses/${i.harness}`),
    'GET /v1/harnesses/:id/skills/:name/files': at(
      `/v1/harnesses/${i.harness}/skills/${i.skill}/files`,
      `/v1/harnesses/${own.harness}/skills/${i.skill}/files`,
    ),
    'GET /v1/harnesses/:id/plugins/:name/files': at(
      `/v1/harnesses/${i.harness}/plugins/${i.plugin}/files`,
      `/v1/harnesses/${own.harness}/plugins/${i.plugin}/files`,
    ),
    'GET /v1/harnesses/:id/plugin': at(`/v1/harnesses/${i.harness}/plugin`),
    'GET /v1/harnesses/:id/events': at(`/v1/harnesses/${i.harness}/events`),
    'GET /v1/harnesses/:id/models': at(`/v1/harnesses/${i.harness}/models`),

    'POST /v1/responses': [
      ...tasksNaming(i).map((body) => ({ path: '/v1/responses', body })),
      ...[i.response, i.running].flatMap((previous_response_id) => [
        { path: '/v1/responses', body: task('x', { previous_response_id }) },
        { path: '/v1/responses', body: task('x', { previous_response_id, metadata: { reins_fork: true } }) },
        { path: '/v1/responses', body: task('x', { previous_response_id, metadata: { harness_id: own.harness } }) },
      ]),
      // B125: a session is made by the server, whatever a caller calls it.
      { path: '/v1/responses', body: task('x', { metadata: { session_id: i.session } }), free: true },
      { path: '/v1/responses', body: task('artifact'), headers: { 'idempotency-key': i.key } },
      {
        path: '/v1/responses',
        body: task('artifact', { stream: true }),
        headers: { 'idempotency-key': `${i.key}-never`, 'last-event-id': '1' },
        free: true,
      },
    ],
    'GET /v1/responses/:id': [
      ...at(`/v1/responses/${i.response}`, `/v1/responses/${i.running}`, `/v1/responses/${i.response}?stream=true`),
      { path: `/v1/responses/${i.response}?stream=true`, headers: { 'last-event-id': '1' } },
    ],
    'DELETE /v1/responses/:id': at(`/v1/responses/${i.response}`),
    'GET /v1/responses/:id/input_items': at(`/v1/responses/${i.response}/input_items`),
    'POST /v1/responses/:id/cancel': at(`/v1/responses/${i.response}/cancel`, `/v1/responses/${i.running}/cancel`),
    'POST /v1/reins/responses/:id/steer': [
      { path: `/v1/reins/responses/${i.running}/steer`, body: task('x', { message_id: 'm' }) },
      { path: `/v1/reins/responses/${own.running}/steer`, body: withFile({ type: 'input_file', file_id: i.upload }) },
      { path: `/v1/reins/responses/${own.running}/steer`, body: task('x', { message_id: i.message }), free: true },
    ],
    'POST /v1/reins/responses/:id/pause': at(`/v1/reins/responses/${i.running}/pause`),
    'POST /v1/reins/responses/:id/resume': at(`/v1/reins/responses/${i.running}/resume`),

    'GET /v1/sessions': [
      ...at(`/v1/sessions?harness=${i.harness}`),
      ...freely('/v1/sessions', `/v1/sessions?cursor=${i.sessionCursor}`),
    ],
    'GET /v1/sessions/:id': at(`/v1/sessions/${i.session}`),
    'DELETE /v1/sessions/:id': at(`/v1/sessions/${i.session}`),
    'PATCH /v1/reins/sessions/:id': [{ path: `/v1/reins/sessions/${i.session}`, body: { title: 'taken' } }],
    'DELETE /v1/traces/:id': at(`/v1/traces/${i.busySession}`),
    'GET /v1/sessions/:id/turns': at(`/v1/sessions/${i.session}/turns`),
    'POST /v1/sessions/:id/cancel': at(`/v1/sessions/${i.session}/cancel`, `/v1/sessions/${i.busySession}/cancel`),
    'GET /v1/sessions/:id/share': at(`/v1/sessions/${i.session}/share`),
    'POST /v1/sessions/:id/share': [
      { path: `/v1/sessions/${i.session}/share`, body: {} },
      { path: `/v1/sessions/${i.session}/share`, body: { enabled: false } },
    ],
    'DELETE /v1/sessions/:id/share': at(`/v1/sessions/${i.session}/share`),
    'GET /v1/sessions/:id/files': at(`/v1/sessions/${i.session}/files`),
    'GET /v1/sessions/:id/files/archive': at(`/v1/sessions/${i.session}/files/archive`),
    'GET /v1/containers/:container/files/:file/content': at(`${file.contents}/content`, `${file.own}/content`),
    'GET /v1/containers/:container/files/:file/pdf': at(`${file.contents}/pdf`, `${file.own}/pdf`),

    'GET /v1/reins/sessions/:id/queue': at(`/v1/reins/sessions/${i.busySession}/queue`),
    'POST /v1/reins/sessions/:id/queue': [
      { path: `/v1/reins/sessions/${i.busySession}/queue`, body: task('x') },
      ...tasksNaming(i).map((body) => ({ path: `/v1/reins/sessions/${own.busySession}/queue`, body })),
      { path: `/v1/reins/sessions/${own.busySession}/queue`, body: task('x', { message_id: i.message }), free: true },
    ],
    'DELETE /v1/reins/sessions/:id/queue/:message': [
      ...at(`/v1/reins/sessions/${i.busySession}/queue/${i.message}`),
      ...freely(`/v1/reins/sessions/${own.session}/queue/${i.message}`),
    ],
    'POST /v1/reins/sessions/:id/queue/resume': at(`/v1/reins/sessions/${i.busySession}/queue/resume`),
    'DELETE /v1/reins/sessions/:id/queue/resume': at(`/v1/reins/sessions/${i.busySession}/queue/resume`),

    'GET /v1/reins/approvals': [
      ...at(`/v1/reins/approvals?status=all&cursor=${i.approval}`),
      ...freely(
        '/v1/reins/approvals',
        `/v1/reins/approvals?status=all&session=${i.session}`,
        `/v1/reins/approvals?status=all&response=${i.response}`,
      ),
    ],
    'GET /v1/reins/approvals/:id': at(approval),
    'POST /v1/reins/approvals/:id/decide': verdict('decide'),
    'POST /v1/reins/approvals/:id/answer': verdict('answer'),
    'POST /v1/reins/approvals/:id/resolve': verdict('resolve'),
    'GET /v1/reins/rules': [
      ...at(`/v1/reins/rules?cursor=${i.rule}`),
      ...freely('/v1/reins/rules', `/v1/reins/rules?session=${i.session}`),
    ],
    'DELETE /v1/reins/rules/:id': at(`/v1/reins/rules/${i.rule}`),

    'GET /v1/reins/webhooks': [byAdmin('/v1/reins/webhooks')],
    'POST /v1/reins/webhooks': [],
    'GET /v1/reins/webhooks/:id': [byAdmin(webhook)],
    'PUT /v1/reins/webhooks/:id': [byAdmin(webhook, { enabled: false })],
    'DELETE /v1/reins/webhooks/:id': [byAdmin(webhook)],
    'POST /v1/reins/webhooks/:id/test': [byAdmin(`${webhook}/test`)],
    'GET /v1/reins/webhooks/:id/deliveries': [
      byAdmin(`${webhook}/deliveries`),
      { ...byAdmin(`/v1/reins/webhooks/${own.webhook}/deliveries?cursor=${i.delivery}`), free: true },
    ],
  };
}

let place: TwoPrincipals;
beforeAll(async () => {
  place = await startTwoPrincipals();
});
afterAll(() => place[Symbol.asyncDispose]());

/** A pair of the same request, with names that are A's and with names of nothing. */
function* pairsOf(a: Ids, own: Ids): Generator<{ readonly route: string; readonly known: Ask; readonly unknown: Ask }> {
  const others = asksOf(unknownOf(a), own);
  for (const [route, asks] of Object.entries(asksOf(a, own)))
    for (const [index, known] of asks.entries()) {
      const unknown = others[route]?.[index];
      if (unknown === undefined) throw new Error(`${route} depends on its names.`);
      yield { route, known, unknown };
    }
}

const perAnswer = new Set(['date', 'x-request-id', 'content-length', 'connection', 'keep-alive', 'etag']);
const made = /\b(fc_|fco_|rs_|resp_|hsess|chrn_|cntr_|file_|apr_|rule_|wh_|req_|msg_|key_|hshr_|reins_secret:)[\w:-]+/g;

/** All of an answer that could tell one thing from another: names that were asked for, or made for it, and times aside. */
async function ask(by: Principal, route: string, request: Ask, asked: Ids) {
  const { path, body, headers = {} } = request;
  const [method = ''] = route.split(' ');
  const answer = await fetch(`${place.url}${path}`, {
    method,
    headers: {
      authorization: `Bearer ${keyOf(by, request)}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  let text = await answer.text();
  for (const [name, id] of Object.entries(asked)) text = text.replaceAll(id, `<${name}>`);
  text = text.replaceAll(made, '$1…').replaceAll(/"(\w+_at|at|position)":\d+/g, '"$1":0');
  const kept = [...answer.headers].filter(([name]) => !perAnswer.has(name));
  return { status: answer.status, headers: Object.fromEntries(kept), text };
}

const keyOf = ({ plain, admin }: Principal, { as }: Ask) => (as === 'admin' ? admin : plain);

test('every route of the server is in the table', () => {
  const settings = { maxBodyBytes: 1, implementation: { name: 'reins', version: '0' } };
  const unused = { services: {} as Services, webhooks: {} as Webhooks, console: {} as ConsoleParts };
  const routes = routesOf({ ...unused, settings });
  const verbs = routes.flatMap(({ path, verbs: all }) => Object.keys(all).map((method) => `${method} ${path}`));
  const { ids } = place.a;
  expect(Object.keys(asksOf(ids, ids)).toSorted()).toEqual(verbs.toSorted());
});

describe('UT-12, B124', () => {
  // The older and the younger of two of a kind: a position in a list tells of both.
  test.each([
    ['alice', 'bob'],
    ['bob', 'alice'],
  ])("for what is %s's, %s is told what it is told for nothing, and no row of the owner's changes", async (owner) => {
    const [a, b] = owner === 'alice' ? [place.a, place.b] : [place.b, place.a];
    const before = place.rows();
    for (const { route, known, unknown } of pairsOf(a.ids, b.ids)) {
      const [told, plain] = [await ask(b, route, known, a.ids), await ask(b, route, unknown, unknownOf(a.ids))];
      expect({ route, path: known.path, ...told }).toEqual({ route, path: known.path, ...plain });
      expect(told.text, `${route} ${known.path}`).not.toContain(a.name);
    }
    const after = place.rows();
    const numbers = place.runNumbers(b.name);
    const ofB = (row: string) =>
      Object.values(b.ids).some((id) => row.includes(id)) ||
      row.includes(b.name) ||
      numbers.some((number) => row.startsWith('heads ') && row.includes(`"run_no":${number},`));
    expect([...before].filter((row) => !after.has(row) && !ofB(row))).toEqual([]);
  });

  test('lists, whole, show nothing of another', async () => {
    const { a, b } = place;
    for (const route of Object.keys(asksOf(a.ids, b.ids))) {
      const [method, path = ''] = route.split(' ');
      if (method !== 'GET' || path.includes(':') || !path.startsWith('/v1/')) continue;
      const request: Ask = { path: `${path}?limit=100`, ...(path.includes('webhooks') ? { as: 'admin' } : {}) };
      const { text } = await ask(b, route, request, b.ids);
      for (const id of [...Object.values(a.ids), a.name]) expect(text, path).not.toContain(id);
    }
  });

  test('the names are good ones: who owns them is told something else', async () => {
    const { a } = place;
    const silent: string[] = [];
    // What takes away comes last, and sessions after what is in them.
    const order = (route: string) =>
      ['', 'DELETE|/resume$', 'DELETE /v1/(sessions|traces)/:id$'].findLastIndex((each) =>
        new RegExp(each).test(route),
      );
    const pairs = [...pairsOf(a.ids, a.ids)].toSorted((x, y) => order(x.route) - order(y.route));
    for (const { route, known, unknown } of pairs) {
      // A feed has no end; of the last two nothing is told to anybody.
      if (known.free === true || route.endsWith('/events') || /keys|audit/.test(route)) continue;
      if (isDeepStrictEqual(known, unknown)) continue;
      const [told, plain] = [await ask(a, route, known, a.ids), await ask(a, route, unknown, unknownOf(a.ids))];
      if (isDeepStrictEqual(told, plain))
        silent.push(`${route} ${known.path} ${JSON.stringify(known.body)} ${told.text}`);
    }
    expect(silent).toEqual([]);
  });
});
