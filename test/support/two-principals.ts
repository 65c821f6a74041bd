// One server, and two principals who each have one of everything. What one may learn by naming what is the other's is for the
// test to find out.

import { allScopes } from '../../src/auth/keys.ts';
import { connectTo, type Uhp } from './uhp.ts';
import { createGate, call, hold, reply, say, startModel, text, type Gate } from './model.ts';
import { eventually, listAsked } from './asking-server.ts';
import { rowsOf } from './rows.ts';
import { startServer } from './server.ts';
import { temporaryFolder } from './folders.ts';
import type { Body } from './event-stream.ts';

/** Of one principal: the name of each thing that it has, and that another may come to know. */
export interface Ids {
  readonly harness: string;
  readonly skill: string;
  readonly plugin: string;
  /** Handles of content: of the skill, of the plugin. */
  readonly skillBlob: string;
  readonly pluginBlob: string;
  /** Handles of secrets: of a header, of a token. */
  readonly headerSecret: string;
  readonly tokenSecret: string;
  /** A task that has ended, and one that has not. */
  readonly response: string;
  readonly session: string;
  readonly running: string;
  readonly busySession: string;
  readonly key: string;
  readonly message: string;
  readonly container: string;
  readonly artifact: string;
  readonly upload: string;
  readonly approval: string;
  readonly rule: string;
  readonly webhook: string;
  readonly delivery: string;
  readonly apiKey: string;
  readonly sessionCursor: string;
}

export interface Principal {
  readonly name: string;
  /** Keys: with every scope but `admin`, and with all. */
  readonly plain: string;
  readonly admin: string;
  readonly ids: Ids;
}

export interface TwoPrincipals extends AsyncDisposable {
  readonly url: string;
  readonly data: string;
  readonly gate: Gate;
  readonly a: Principal;
  readonly b: Principal;
  /** Every row of every table, those of processes aside. */
  rows(): ReadonlySet<string>;
  /** Numbers of the runs of a principal. */
  runNumbers(principal: string): readonly number[];
}

const write = (id: string, path: string) => call(id, 'write_file', { path, content: 'made' });
const replies = {
  artifact: [reply(write('w', 'notes.txt')), say('See notes.txt.')],
  ask: [reply(write('w', 'asked.txt')), say('Done.')],
};

export async function startTwoPrincipals(): Promise<TwoPrincipals> {
  const [data, gate] = [temporaryFolder(), createGate()];
  const held = [reply(text('first '), hold, text('second'))];
  const model = await startModel(
    (said) => (said.startsWith('held') ? held : said === 'artifact' || said === 'ask' ? replies[said] : undefined),
    gate,
  );
  const settings = { ...model.settings, webhooks: { allowLoopback: true } };
  const server = await startServer({ data, env: model.env, settings });
  return {
    url: server.url,
    data,
    gate,
    a: await furnish(server.uhp, 'alice'),
    b: await furnish(server.uhp, 'bob'),
    rows() {
      const shown = (_: string, value: unknown) =>
        value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value;
      return new Set(
        [...rowsOf(data)].flatMap(([table, rows]) => rows.map((row) => `${table} ${JSON.stringify(row, shown)}`)),
      );
    },
    runNumbers: (name) =>
      (rowsOf(data).get('runs') ?? []).flatMap((run) => (run['principal'] === name ? [Number(run['run_no'])] : [])),
    async [Symbol.asyncDispose]() {
      gate.open();
      await server[Symbol.asyncDispose]();
      await model[Symbol.asyncDispose]();
    },
  };
}

/** One of everything. */
async function furnish(owner: Uhp, name: string): Promise<Principal> {
  const keyOf = async (scopes: readonly string[]) =>
    (await owner.send('POST', '/v1/reins/keys', { body: { principal: name, scopes } })).body;
  const [usual, whole] = [await keyOf(['read', 'tasks', 'manage']), await keyOf(allScopes)];
  const plain = connectTo(owner.url, String(usual['key']));
  const admin = connectTo(owner.url, String(whole['key']));
  const post = async <T = Body>(path: string, body: object, by = plain): Promise<T> => {
    const answer = await by.send('POST', path, { body });
    if (answer.status !== 200) throw new Error(`POST ${path}: ${JSON.stringify(answer.body)}`);
    return answer.body as T;
  };
  const harness = await post<Body & HarnessAnswer>('/v1/harnesses', harnessOf(name));
  const key = `key-of-${name}`;
  const { body: task } = await plain.create({ input: 'artifact' }, { 'idempotency-key': key });
  const { session_id: session } = task.metadata;
  const { body: files } = await plain.send('GET', `/v1/sessions/${session}/files`);
  const [artifact] = files['files'] as { id: string; container_id: string }[];
  const running = await post('/v1/responses', { input: `held ${name}`, background: true });
  const message = `message-of-${name}`;
  await post(`/v1/reins/sessions/${running.metadata.session_id}/queue`, { input: 'later', message_id: message });
  await post(`/v1/sessions/${session}/share`, {});
  const hook = { url: 'http://127.0.0.1:9/', events: ['response.failed'] };
  const { id: webhook } = await post('/v1/reins/webhooks', hook, admin);
  const { id: delivery } = await post(`/v1/reins/webhooks/${webhook}/test`, {}, admin);
  const { rule, approval } = await furnishApprovals(plain, harness.id, post);
  const { next_cursor: sessionCursor } = (await plain.send('GET', '/v1/sessions?limit=1')).body;
  const [server, [skill], [plugin]] = [harness.mcpServers[0], harness.skills, harness.plugins];
  return {
    name,
    plain: String(usual['key']),
    admin: String(whole['key']),
    ids: {
      harness: harness.id,
      skill: skill?.name ?? '',
      plugin: plugin?.name ?? '',
      skillBlob: skill?.blob ?? '',
      pluginBlob: plugin?.blob ?? '',
      headerSecret: server?.headers['X-Key'] ?? '',
      tokenSecret: server?.auth ?? '',
      response: task.id,
      session,
      running: running.id,
      busySession: running.metadata.session_id,
      key,
      message,
      container: artifact?.container_id ?? '',
      artifact: artifact?.id ?? '',
      upload: await upload(plain, String(usual['key'])),
      approval,
      rule,
      webhook,
      delivery,
      apiKey: usual.id,
      sessionCursor: String(sessionCursor),
    },
  };
}

interface HarnessAnswer {
  readonly mcpServers: readonly { readonly headers: Readonly<Record<string, string>>; readonly auth: string }[];
  readonly skills: readonly { readonly name: string; readonly blob: string }[];
  readonly plugins: readonly { readonly name: string; readonly blob: string }[];
}

function harnessOf(name: string): object {
  const schema = 'https://agent-plugins.org/schemas/1.0.0/plugin.schema.json';
  const manifest = JSON.stringify({ $schema: schema, name: `plugin-of-${name}`, version: '1.0.0' });
  return {
    base: 'native',
    name: `harness-of-${name}`,
    reinsToolPermissions: { write_file: 'ask' },
    mcpServers: [
      {
        name: 's',
        url: 'https://mcp.example.invalid/',
        enabled: false,
        headers: { 'X-Key': `h-${name}` },
        auth: `t-${name}`,
      },
    ],
    skills: [{ name: `skill-of-${name}`, content: `---\nname: s\ndescription: Of ${name}.\n---\n` }],
    plugins: [{ files: [{ path: 'plugin.json', content: manifest }] }],
  };
}

/** A rule that a decision made, and an approval that is open. */
async function furnishApprovals(
  uhp: Uhp,
  harnessId: string,
  post: (path: string, body: object) => Promise<Body>,
): Promise<{ readonly rule: string; readonly approval: string }> {
  const ask = async () => {
    const task = await post('/v1/responses', { input: 'ask', background: true, metadata: { harness_id: harnessId } });
    return eventually(async () => (await listAsked(uhp, `response=${task.id}`))[0]?.id);
  };
  const remember = { scope: 'session', match: 'tool' };
  const decided = await post(`/v1/reins/approvals/${await ask()}/decide`, { decision: 'approve', remember });
  const { rule_id: rule } = decided['decision'] as { rule_id: string };
  return { rule, approval: await ask() };
}

async function upload({ url }: Uhp, token: string): Promise<string> {
  const form = new FormData();
  form.append('purpose', 'user_data');
  form.append('file', new Blob(['uploaded']), 'uploaded.txt');
  const headers = { authorization: `Bearer ${token}` };
  const answer = await fetch(`${url}/v1/files`, { method: 'POST', headers, body: form });
  return ((await answer.json()) as { id: string }).id;
}

/** The same names, of things that never were. */
export function unknownOf(ids: Ids): Ids {
  const turned = (id: string) =>
    id.replace(/.{4}$/, (end) => end.replaceAll(/./g, (char) => (char === '0' ? '1' : '0')));
  const others = Object.entries(ids).map(([name, id]: [string, string]) => [name, turned(id)]);
  return { ...ids, ...Object.fromEntries(others), sessionCursor: turnedCursor(ids.sessionCursor, turned) };
}

function turnedCursor(cursor: string, turned: (id: string) => string): string {
  const [at, session] = JSON.parse(Buffer.from(cursor, 'base64url').toString()) as [number, string];
  return Buffer.from(JSON.stringify([at, turned(session)])).toString('base64url');
}
