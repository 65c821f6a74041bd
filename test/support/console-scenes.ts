// What the console's page may look like: each scene is what happened so far, told to the page's own reducer.

import { event } from '../../src/console/state/rig.ts';
import type { Action, ActionBody } from '../../src/console/state/action.ts';
import type { Approval, Harness, UhpFile, UhpSession } from '../../src/console/state/wire.ts';
import type { TurnEvent } from '../../src/console/state/turn-event.ts';

const startMs = Date.UTC(2026, 4, 12, 9, 30);

export type Scene = readonly Action[];

/** Wraps what is told in times, one second apart. */
function scene(...bodies: readonly ActionBody[]): Scene {
  const boot: ActionBody = {
    type: 'booted',
    preferences: { transport: 'task', enter: 'send', theme: 'system' },
    draft: {},
  };
  const told = [boot, catalogue, sessions, ...bodies].map((body, at) => ({ ...body, atMs: startMs + at * 1_000 }));
  return [...told, { type: 'tick', atMs: startMs + told.length * 1_000 }];
}

const model = (id: string, label: string, available: boolean) => ({
  id,
  label,
  backend: 'native',
  available,
  default: id === 'demo',
  ...(available ? {} : { reins_why: 'Set OPENAI_API_KEY or OPENROUTER_API_KEY to use it.' }),
});

const catalogue: ActionBody = {
  type: 'catalogue_loaded',
  steering: true,
  models: {
    backends: {
      native: {
        default: 'demo',
        models: [
          model('demo', 'Demo (no AI)', true),
          model('anthropic/claude-opus-5', 'Claude Opus 5', true),
          model('openai/gpt-6-thinking', 'GPT-6 Thinking', false),
        ],
      },
      codex: { default: 'gpt-6-codex', models: [{ ...model('gpt-6-codex', 'GPT-6 Codex', false), backend: 'codex' }] },
    },
    reins_not_installed: [
      { base: 'pi', label: 'Pi', why: 'Pi is not installed: npm install -g @earendil-works/pi-coding-agent' },
    ],
  },
  harnesses: [
    { id: 'harness_1', name: 'Reins engine', base: 'native', baseLabel: 'Reins engine' },
    { id: 'harness_2', name: 'Codex', base: 'codex', baseLabel: 'Codex' },
  ] as unknown as readonly Harness[],
};

const session = (id: string, title: string, facts: Partial<UhpSession> = {}): UhpSession =>
  ({
    id: `hsess_${id}`,
    object: 'session',
    harness_id: 'harness_1',
    title,
    status: 'completed',
    created_at: startMs / 1_000 - 9_000,
    updated_at: startMs / 1_000,
    ...facts,
  }) as UhpSession;

const ago = (minutes: number) => ({ updated_at: startMs / 1_000 - minutes * 60 });

const sessions: ActionBody = {
  type: 'sessions_loaded',
  next: 'more',
  from: null,
  sessions: [
    session('1', 'Find out why the nightly import doubles rows', { status: 'in_progress' }),
    session('2', 'Move the billing service to PostgreSQL 18', { ...ago(14), reins_pending: 1 }),
    session('3', 'Draft the release notes for 2.4', ago(95)),
    session('4', 'Which of our dependencies are no longer maintained?', { ...ago(60 * 20), status: 'failed' }),
    session('5', 'Translate the onboarding mails into Norwegian, Danish and Swedish', ago(60 * 50)),
    session('6', 'Rename the `Widget` classes', ago(60 * 24 * 9)),
  ],
};

let number = 0;
const hear = (...events: readonly TurnEvent[]): ActionBody => ({
  type: 'received',
  turn: 'm1',
  from: { kind: 'task', responseId: 'resp_1', number: number++ },
  events,
});

const prompt =
  'The nightly import has doubled rows since Friday. Find out why, write a test that shows it, and propose the smallest fix.';

function begun(text = prompt): readonly ActionBody[] {
  number = 0;
  return [
    { type: 'draft_changed', draft: text },
    { type: 'submit', id: 'm1' },
    { type: 'sent', turn: 'm1' },
    hear({ type: 'created', responseId: 'resp_1', sessionId: 'hsess_1', model: 'claude-opus-5' }),
  ];
}

const dockerCall = { command: 'docker compose up -d postgres\nnpm test -- import', timeout: 120 };

const start = (name: string, input: object, at: { id: string; index: number }): TurnEvent => ({
  type: 'tool_start',
  name,
  input: JSON.stringify(input),
  ...at,
});

const result = (id: string, name: string, facts: { bits: string; ok?: boolean; preview?: string }): TurnEvent => ({
  type: 'tool_result',
  id,
  name,
  ok: facts.ok ?? true,
  summary: `${name} · ${facts.ok === false ? '✗ failed' : '✓ ok'} · ${facts.bits}`,
  preview: facts.preview ?? null,
});

const source = Array.from({ length: 60 }, (_, at) => `${at + 1}  const row${at} = await read(batch[${at}]);`).join(
  '\n',
);

const answer = `The import runs **twice** since Friday, and its upsert has lost its key.

1. \`cron.yaml\` has two entries for \`import:nightly\`; the second came with the move to the new scheduler.
2. The upsert names no conflict target any more, so the second run inserts instead of updating.

\`\`\`ts
await db.insert(rows).values(batch).onConflictDoUpdate({
  target: rows.externalId,
  set: changed(batch),
});
\`\`\`

| when | runs | rows |
|---|---:|---:|
| Thursday | 1 | 48,112 |
| Friday | 2 | 96,224 |

The test is in [import.test.ts](https://example.com/import.test.ts). It fails before the fix and passes after it.`;

function worked(): readonly ActionBody[] {
  return [
    ...begun(),
    hear({
      type: 'todos_updated',
      todos: {
        items: [
          { content: 'Read how the import is started', status: 'completed' },
          { content: 'Compare the last two runs', status: 'completed' },
          { content: 'Write a test that shows the doubled rows', status: 'in_progress' },
          { content: 'Propose the smallest fix', status: 'pending' },
        ],
        completed: 2,
        total: 4,
        current: 'Write a test that shows the doubled rows',
      },
    }),
    hear(
      event.think(
        'The rows doubled on Friday. What changed on Friday? First look at the scheduler, then at the upsert that should make a second run harmless.',
        0,
      ),
    ),
    hear(event.text('I will look at how the import is started, and at what the last two runs did.', 1)),
    hear(start('read_file', { path: 'src/import.ts' }, { id: 'c1', index: 2 })),
    hear(start('grep', { pattern: 'import:nightly' }, { id: 'c2', index: 3 })),
    hear(result('c1', 'read_file', { bits: 'deploy/cron.yaml · 60 lines · 2114 B', preview: source })),
    hear(
      result('c2', 'grep', {
        bits: '2 lines · 96 B · src/import.ts:41',
        preview: 'src/import.ts:41\nsrc/jobs/nightly.ts:7',
      }),
    ),
    hear(start('bash', { command: 'npm test -- import', timeout: 60 }, { id: 'c3', index: 4 })),
    hear(
      result('c3', 'bash', {
        ok: false,
        bits: 'psql: could not connect to server: Connection refused',
        preview: 'exit=2\nstderr:\npsql: could not connect to server: Connection refused',
      }),
    ),
  ];
}

function finished(): readonly ActionBody[] {
  return [
    ...worked(),
    hear({ type: 'file_changed', path: 'test/import.test.ts', kind: 'add' }),
    hear(event.text(answer, 5)),
    hear({
      type: 'ended',
      ending: { kind: 'finished' },
      text: '',
      spent: {
        reins_usage: { input_tokens: 12_340, output_tokens: 512, cache_read_tokens: 9_000 },
        reins_cost: { dollars: 0.0412, estimated: false },
      },
      undelivered: [],
      cwd: null,
    }),
    {
      type: 'files_loaded',
      files: [
        { id: 'file_1', object: 'file', filename: 'test/import.test.ts', bytes: 1_812, created_at: 1 },
        { id: 'file_2', object: 'file', filename: 'out/rows-per-day.png', bytes: 48_211, created_at: 1 },
        { id: 'file_3', object: 'file', filename: 'report.html', bytes: 912, created_at: 1, reins_deleted: true },
      ] as unknown as readonly UhpFile[],
    },
  ];
}

const approval = (facts: Partial<Approval> = {}): Approval =>
  ({
    id: 'appr_1',
    object: 'reins.approval',
    kind: 'approval',
    status: 'pending',
    response_id: 'resp_1',
    session_id: 'hsess_1',
    harness_id: 'harness_1',
    call_id: 'c4',
    name: 'bash',
    arguments: JSON.stringify(dockerCall),
    arguments_digest: 'sha256:1',
    reason: 'Starts a container on this machine.',
    questions: null,
    agent_path: [],
    requested_at: startMs / 1_000,
    expires_at: startMs / 1_000 + 900,
    decision: null,
    ...facts,
  }) as Approval;

const question = approval({
  id: 'appr_2' as Approval['id'],
  kind: 'question',
  call_id: 'c9',
  name: 'ask_user',
  reason: null,
  arguments: '{}',
  agent_path: ['researcher'],
  questions: [
    {
      id: 'q1',
      question: 'Which of the two cron entries should stay?',
      options: ['The old one (02:00)', 'The new one (03:30)'],
      allow_multiple: false,
      allow_free_form: true,
    },
  ],
});

const recovery = approval({
  id: 'appr_3' as Approval['id'],
  kind: 'recovery',
  status: 'uncertain',
  call_id: 'c8',
  name: 'http_request',
  reason: null,
  arguments: JSON.stringify({ url: 'https://example.com/deploy', method: 'POST' }),
  expires_at: null,
});

function asking(): readonly ActionBody[] {
  return [
    ...worked(),
    hear(start('bash', dockerCall, { id: 'c4', index: 5 })),
    hear({ type: 'approval_required', approval: approval() }),
  ];
}

export const scenes = {
  empty: scene(),
  drafting: scene(
    { type: 'draft_changed', draft: 'Compare these two reports and say what is new.\nKeep it to one page.' },
    { type: 'attachment_added', id: 'a1', name: 'report-may.pdf' },
    { type: 'attachment_added', id: 'a2', name: 'report-april.pdf' },
    { type: 'attachment_changed', attachment: { kind: 'ready', id: 'a1', name: 'report-may.pdf', fileId: 'file_9' } },
    {
      type: 'attachment_changed',
      attachment: { kind: 'failed', id: 'a2', name: 'report-april.pdf', message: 'too large' },
    },
  ),
  long: scene({ type: 'draft_changed', draft: 'x'.repeat(262_200) }),
  missing: scene(
    { type: 'session_opened', sessionId: 'hsess_none' },
    {
      type: 'session_missing',
      sessionId: 'hsess_none',
      message: 'There is no session of this name, or it is not yours.',
    },
  ),
  loading: scene({ type: 'session_opened', sessionId: 'hsess_3' }),
  working: scene(...worked(), hear(start('bash', dockerCall, { id: 'c4', index: 5 }))),
  waiting: scene(...begun(), hear({ type: 'waiting', on: 'model', seconds: 25, name: null, heardSecondsAgo: 3 })),
  paused: scene(...worked(), {
    type: 'session_seen',
    session: session('1', 'Find out why the nightly import doubles rows', {
      status: 'in_progress',
      reins_paused: true,
    }),
  }),
  picking: scene({ type: 'overlay_opened', overlay: { kind: 'picker' } }),
  retrying: scene(
    ...begun(),
    hear(event.text('A first try.', 0)),
    hear({ type: 'attempt_reset', index: 0, kept: '', retryInMs: 12_000 }),
  ),
  lost: scene(...worked(), { type: 'stream_lost', turn: 'm1', why: 'broken', random: 0.5 }),
  asking: scene(...asking()),
  questions: scene(
    ...asking(),
    hear({ type: 'approval_required', approval: question }),
    hear({ type: 'recovery_required', approval: recovery }),
  ),
  decided: scene(
    ...asking(),
    hear({
      type: 'approval_decided',
      approval: approval({
        status: 'denied',
        decision: { decision: 'deny', by: 'owner', at: 1, note: 'Use the test database.', rule_id: null },
      }),
    }),
  ),
  queued: scene(
    ...worked(),
    hear(event.text('Now the test.', 5)),
    { type: 'draft_changed', draft: 'Also look at the weekly import.' },
    { type: 'submit', id: 'm2' },
    { type: 'draft_changed', draft: 'And keep the test in one file.' },
    { type: 'submit', id: 'm3' },
    { type: 'draft_changed', draft: 'One more' },
  ),
  stopping: scene(...worked(), { type: 'stop' }),
  finished: scene(...finished()),
  opened: scene(...finished(), { type: 'row_toggled', row: 'm1/3', open: true }),
  failed: scene(
    ...worked(),
    { type: 'failed', id: 'x', message: 'The list of sessions could not be read.' },
    hear(event.fail('the provider refused the key')),
  ),
  forking: scene(...finished(), { type: 'forked', row: 'm1/0' }),
} as const satisfies Record<string, Scene>;

export type SceneName = keyof typeof scenes;

/** These texts in every place that shows words of an agent, a tool or a person. */
export function attackScene(texts: readonly string[]): Scene {
  const all = texts.join('\n\n');
  return scene(
    ...begun(),
    ...texts.flatMap((text, at) => [
      hear(event.think(text, 3 * at)),
      hear(event.start(text, `c${at}`, 3 * at + 1)),
      hear({
        type: 'tool_result',
        id: `c${at}`,
        name: text,
        ok: at % 2 === 0,
        summary: text,
        preview: `${text}\n${all}`,
      }),
      hear(event.text(text, 3 * at + 2)),
    ]),
    hear({
      type: 'todos_updated',
      todos: { items: texts.map((content) => ({ content, status: 'pending' })), completed: 0, total: 1, current: all },
    }),
    hear({
      type: 'approval_required',
      approval: approval({ name: all, reason: all, arguments: JSON.stringify({ [all]: all }), agent_path: [all] }),
    }),
    hear(event.fail(all)),
    { type: 'files_loaded', files: texts.map((filename, at) => ({ id: `f${at}`, filename, bytes: 1 })) as never },
    { type: 'sessions_loaded', sessions: texts.map((title, at) => session(`${at}`, title)), next: null, from: null },
    { type: 'session_renamed', sessionId: 'hsess_1', title: all },
    { type: 'failed', id: 'x', message: all },
  );
}

/** A long conversation: many turns, each with an answer. */
export function longScene(turns: number, prefix = 'resp_h'): Scene {
  const stored = Array.from({ length: turns }, (_, at) => ({
    id: `${prefix}${at}`,
    user: `Question ${at}`,
    startedMs: startMs,
    source: {
      kind: 'response' as const,
      response: {
        id: `${prefix}${at}`,
        status: 'completed',
        model: 'demo',
        output: [
          {
            id: 'i1',
            type: 'function_call',
            status: 'completed',
            call_id: `h${at}`,
            name: 'read_file',
            arguments: '{}',
          },
          { id: 'i2', type: 'function_call_output', status: 'completed', call_id: `h${at}`, output: 'a line' },
          {
            id: 'i3',
            type: 'message',
            role: 'assistant',
            status: 'completed',
            content: [{ type: 'output_text', text: answer, annotations: [] }],
          },
        ],
        usage: null,
        metadata: {},
        error: null,
        incomplete_details: null,
      },
    },
  }));
  return scene(
    { type: 'session_opened', sessionId: 'hsess_3' },
    {
      type: 'session_loaded',
      session: session('3', 'A long one'),
      turns: stored as unknown as Extract<Action, { type: 'session_loaded' }>['turns'],
      more: true,
      running: null,
      spent: {
        reins_usage: { input_tokens: 96_000, output_tokens: 4_100 },
        reins_cost: { dollars: 1.27, estimated: true },
      },
      draft: {},
      chips: [],
    },
  );
}
