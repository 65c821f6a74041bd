import type { ReplyFault } from '../model-servers/reply-script.ts';
import type { Wish } from './choose-tool.ts';

/** Where a conversation stands in its script. */
export interface ScriptTurn {
  /** Tool results since the marker. */
  readonly step: number;
  /** Which request with this marker it is, counted from 1; those that offer tools and those that offer none apart. */
  readonly attempt: number;
  /** What the marker says after its name. */
  readonly argument: string | undefined;
  /** Of tools, since the marker. */
  readonly results: readonly string[];
  /** What users said before the text with the marker. */
  readonly earlier: readonly string[];
}

export type ScriptAnswer =
  | {
      readonly kind: 'say';
      readonly thinking?: string;
      /** A string is sent word by word. */
      readonly text?: string | readonly string[];
      readonly wishes?: readonly Wish[];
      readonly cutByLength?: true;
      /** Absent: the model that was asked for. */
      readonly servedModel?: string;
      /** After each delta. */
      readonly pauseMs?: number;
      readonly fault?: Extract<ReplyFault, { kind: 'cut' | 'stall' | 'no-end-mark' }>;
    }
  | { readonly kind: 'refuse'; readonly status: number; readonly headers?: Readonly<Record<string, string>> }
  /** Status 200 and a body that is no reply. */
  | { readonly kind: 'body'; readonly contentType: string; readonly body: string }
  /** Not even headers. */
  | { readonly kind: 'nothing' };

type Script = (turn: ScriptTurn) => ScriptAnswer;

const say = (text: string | readonly string[]): ScriptAnswer => ({ kind: 'say', text });
const shell = (command: string): Wish => ({ kind: 'shell', command });
const numberOr = (fallback: number, argument: string | undefined): number =>
  argument === undefined ? fallback : Number(argument);

/** Calls tools first, then ends with a text. */
const using =
  (text: string, then: string, ...wishes: readonly Wish[]): Script =>
  ({ step }) =>
    step === 0 ? { kind: 'say', text, wishes } : say(then);
const refusing =
  (status: number, headers: Readonly<Record<string, string>> = {}): Script =>
  () => ({ kind: 'refuse', status, headers });
const onceThen =
  (first: Script, then: string): Script =>
  (turn) =>
    turn.attempt === 1 ? first(turn) : say(then);

const soon = { 'retry-after': '1' };

const exactly = /Reply with exactly: (.+)/;
const file = /Create a file named (\S+) containing exactly: (.+)/;
const call = /Call the tool (\S+) with the text (\S+)/;
const count = /Count slowly from 1 to (\d+)/;

/** What is obeyed without a marker: the orders of people who try a server, in the words that they use. */
export const isPlain = (text: string) => [exactly, file, call, count].some((order) => order.test(text));

function obey({ step, argument = '', results }: ScriptTurn): ScriptAnswer {
  const [, name, text = ''] = call.exec(argument) ?? [];
  if (name !== undefined)
    return step === 0
      ? { kind: 'say', text: 'Calling.', wishes: [{ kind: 'mcp', name, text }] }
      : say(results.at(-1) ?? '');
  const [, path, content = ''] = file.exec(argument) ?? [];
  if (path !== undefined)
    return step === 0
      ? { kind: 'say', text: 'Writing it.', wishes: [{ kind: 'write', path, content: content.trim() }] }
      : say('Done.');
  const [, last] = count.exec(argument) ?? [];
  if (last !== undefined)
    return { kind: 'say', text: Array.from({ length: Number(last) }, (_, index) => `${index + 1}\n`), pauseMs: 200 };
  return say(exactly.exec(argument)?.[1]?.trim() ?? 'Hello from the model.');
}

/** By the name in the marker `[[name]]` or `[[name:argument]]`. */
export const scripts: Readonly<Record<string, Script>> = {
  plain: obey,
  text: () => say('Hello from the model.'),
  unicode: () => say('Line\u2028separator, 👩‍👩‍👧 family, 漢字 and é.'),
  think: () => ({ kind: 'say', thinking: 'Let me think about it.', text: 'I thought.' }),
  recall: ({ earlier }) => say(`I was told:\n${earlier.join('\n')}`),
  length: () => ({ kind: 'say', text: 'This is cut by leng', cutByLength: true }),
  other: () => ({ kind: 'say', text: 'I am another model.', servedModel: 'served-other-model' }),
  slowtext: ({ argument }) => ({
    kind: 'say',
    text: Array.from({ length: 40 }, (_, index) => `word${index} `),
    pauseMs: numberOr(200, argument),
  }),
  deltas: ({ argument }) => say(Array.from({ length: numberOr(100, argument) }, (_, index) => `d${index} `)),

  tool: using(
    'Writing it now.',
    'The file is written.',
    shell(`printf %s 'made by a tool' > made.txt && echo wrote made.txt`),
  ),
  write: using('Writing it now.', 'The file is written.', {
    kind: 'write',
    path: 'made.txt',
    content: 'made by a write\n',
  }),
  read: ({ step, argument = 'made.txt' }) =>
    step === 0 ? { kind: 'say', text: 'Reading.', wishes: [{ kind: 'read', path: argument }] } : say('Read.'),
  ls: using('Looking.', 'Seen.', shell('ls')),
  parallel: using('Two at once.', 'Both done.', shell('echo one > one.txt'), shell('echo two > two.txt')),
  // One child that left the group, one whose parent is gone, one in the foreground (H-941).
  slowtool: using(
    'Starting a slow one.',
    'The slow one is over.',
    shell('setsid sleep 300 & (sleep 301 &) ; sleep 302'),
  ),
  midtool: using(
    'Starting.',
    'The three seconds are over.',
    shell('echo begin > begin.txt; sleep 3; echo end > end.txt'),
  ),
  env: using('Looking at it.', 'Seen.', shell('env')),
  // What looks like a secret of the contract, in the homes that runtimes know and beside them.
  home: using(
    'Reading.',
    'Read.',
    shell(
      'for d in "$HOME" "$CODEX_HOME" "$CLAUDE_CONFIG_DIR" "$PI_CODING_AGENT_DIR" "$XDG_CONFIG_HOME"; do [ -d "$d" ] && grep -rhoaE "[a-z-]+-of-the-(contract|machine)" "$d" "$d/.." | head -5; done; echo END',
    ),
  ),
  big: using('A lot to read.', 'That was a lot.', shell('yes "a line of a long output" | head -c 3000000')),
  mcp: ({ step, argument = 'echo' }) =>
    step === 0
      ? { kind: 'say', text: 'Calling MCP.', wishes: [{ kind: 'mcp', name: argument }] }
      : say('MCP answered.'),
  ask: using('A question.', 'Thank you.', { kind: 'ask' }),
  unknowntool: using('Calling.', 'It failed.', { kind: 'named', name: 'no_such_tool', input: { a: 1 } }),

  e400: refusing(400),
  e401: refusing(401),
  e404: refusing(404),
  e429: refusing(429, soon),
  e429once: onceThen(refusing(429, soon), 'Worked after a 429.'),
  e500once: onceThen(refusing(500), 'Worked after a 500.'),
  cutonce: ({ attempt }) =>
    attempt === 1
      ? { kind: 'say', text: 'This one is cut in the middle of it.', fault: { kind: 'cut', after: 6 } }
      : say('This one is whole.'),
  noend: () => ({ kind: 'say', text: 'This one has no end mark.', fault: { kind: 'no-end-mark' } }),
  silence: ({ argument }) => ({
    kind: 'say',
    text: 'Then I fall silent for ever.',
    fault: { kind: 'stall', after: numberOr(4, argument) },
  }),
  html: () => ({ kind: 'body', contentType: 'text/html', body: '<html><body>Not a model</body></html>' }),
  garbage: () => ({
    kind: 'body',
    contentType: 'text/event-stream',
    body: 'data: {not json\n\nevent: nonsense\ndata: 17\n\n',
  }),
  noheaders: () => ({ kind: 'nothing' }),
};
