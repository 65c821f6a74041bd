import { describe, expect, test } from 'vitest';
import fc from 'fast-check';
import { answerDemo } from './demo-answer.ts';
import { attachedFileText } from '../attached-file.ts';
import { createDemoModel } from './demo-model.ts';
import { createManualClock } from '../../testing/manual-clock.ts';
import { readDemoTask } from './demo-task.ts';
import type {
  LanguageModelV4FunctionTool,
  LanguageModelV4Prompt,
  LanguageModelV4ToolResultOutput,
} from '@ai-sdk/provider';
import type { ModelPart } from './model-part.ts';
import type { ModelRequest } from '../model.ts';

const tool = (name: string, ...required: string[]): LanguageModelV4FunctionTool => ({
  type: 'function',
  name,
  inputSchema: {
    type: 'object',
    properties: Object.fromEntries(required.map((key) => [key, { type: 'string' as const }])),
    required,
  },
});
const tools = [
  tool('read_file', 'path'),
  tool('write_file', 'path', 'content'),
  tool('bash', 'command'),
  tool('fixture_uhp_echo', 'text'),
];
const user = (...texts: string[]): LanguageModelV4Prompt => [
  { role: 'user', content: texts.map((text) => ({ type: 'text', text })) },
];
const answer = (...texts: string[]) => answerDemo({ prompt: user(...texts), tools });
const said = (...texts: string[]) => {
  const given = answer(...texts);
  return given.kind === 'text' ? given.text : given;
};

/** What the model says once its first call has been answered. */
function afterTool(message: string, output: LanguageModelV4ToolResultOutput) {
  const call = answer(message);
  if (call.kind !== 'call') throw new Error(`no call, but: ${call.text}`);
  const place = { toolCallId: 'call_demo_1', toolName: call.name };
  const prompt: LanguageModelV4Prompt = [
    ...user(message),
    { role: 'assistant', content: [{ type: 'tool-call', ...place, input: call.input }] },
    { role: 'tool', content: [{ type: 'tool-result', ...place, output }] },
  ];
  const given = answerDemo({ prompt, tools });
  return given.kind === 'text' ? given.text : given;
}
const text = (value: string): LanguageModelV4ToolResultOutput => ({ type: 'text', value });

describe('E-908: what each message does', () => {
  test.each([
    ['Reply with exactly: ok', 'ok'],
    ['reply with EXACTLY: two.', 'two'],
    ['  Reply with exactly: A b\nC. ', 'A b\nC'],
    ['Reply with exactly: wait...', 'wait...'],
    ['Count slowly from 1 to 3', '1\n2\n3'],
    ['Count slowly from 3 to 1, one number per line.', '3\n2\n1'],
    ['count slowly from 1 to 99999999', expect.stringContaining('a script, not an AI')],
    ['Count slowly from 1 to 9999999', 'I count at most 10000 numbers in one answer.'],
    ['What is the weather?', expect.stringContaining('a script, not an AI')],
    ['', expect.stringContaining('a script, not an AI')],
  ])('%j', (message, expected) => expect(said(message)).toEqual(expected));

  test('only the last user message counts, and its last part before all of them', () => {
    const prompt = [...user('Reply with exactly: one'), ...user('Reply with exactly: two')];
    expect(answerDemo({ prompt })).toMatchObject({ text: 'two' });
    expect(said('Reply with exactly: one', 'Reply with exactly: two')).toBe('two');
    expect(said('Reply with exactly:', 'split')).toBe('split');
  });

  test.each([
    ['Summarise README.md in 3 bullets', 'README.md', 3],
    ['summarize the file docs/a b.md in two bullets.', 'docs/a b.md', 2],
    ['Summarise `in.md`', 'in.md', 3],
    ['Summarise notes in bullets', 'notes', 3],
    ['Summarise x in 99999 bullet points', 'x', 20],
  ])('%j reads the file', (message, file, bullets) => {
    expect(answer(message)).toEqual({ kind: 'call', name: 'read_file', input: { path: file } });
    expect(readDemoTask(message)).toMatchObject({ bullets });
  });

  test('a summary is N real sentences of the file', () => {
    const markdown = `# Widget

![badge](https://example.com/b.svg)

Widget counts things. It is
fast and small! Does it scale?

\`\`\`ts
Not a sentence. At all here.
\`\`\`

| name | use |
| --- | --- |
| a | It is a table. |

## Use

- Install it with one command.
- short
> It has no dependencies.
`;
    expect(afterTool('Summarise README.md in five bullets', text(markdown))).toBe(
      [
        '- Widget counts things.',
        '- It is fast and small!',
        '- Does it scale?',
        '- Install it with one command.',
        '- It has no dependencies.',
      ].join('\n'),
    );
    expect(afterTool('Summarise a.txt in 2 bullets', text('just words'))).toBe('- just words');
    expect(afterTool('Summarise a.txt in 2 bullets', text(''))).toBe('The file is empty.');
  });

  test('a file is written, and the end is one sentence', () => {
    const message = 'Create a file named uhp-conformance.txt containing exactly: artifact-ok';
    const input = { path: 'uhp-conformance.txt', content: 'artifact-ok' };
    expect(answer(message)).toEqual({ kind: 'call', name: 'write_file', input });
    expect(afterTool(message, text('written'))).toBe('The file uhp-conformance.txt is written.');
  });

  test('a tool is called by its name or the end of it, and its result is the answer', () => {
    const message = 'Call the tool uhp_echo with the text a1b2 and reply with exactly what it returns, nothing else.';
    expect(answer(message)).toEqual({ kind: 'call', name: 'fixture_uhp_echo', input: { text: 'a1b2' } });
    expect(afterTool(message, text('UHP-FIXTURE:2b1a\n'))).toBe('UHP-FIXTURE:2b1a');
    expect(answer('Call the tool read_file with {"path": "a"}')).toMatchObject({
      name: 'read_file',
      input: { path: 'a' },
    });
    expect(said('Call the tool nope with {}')).toMatch(/^The tool nope is not offered here; offered are read_file, /);
    expect(said('Call the tool write_file with the text x')).toContain('give its arguments as JSON');
    expect(said('Call the tool read_file with {oops')).toContain('a script, not an AI');
    expect(
      answerDemo({ prompt: user(message), tools: [tool('a_uhp_echo', 'text'), tool('b_uhp_echo', 'text')] }),
    ).toMatchObject({
      kind: 'text',
    });
  });

  test('a shell command is run and its output is the answer', () => {
    const message = 'Run this shell command and reply with its output only, nothing else: cat a: b/..';
    expect(answer(message)).toEqual({ kind: 'call', name: 'bash', input: { command: 'cat a: b/..' } });
    expect(afterTool(message, text('out\n'))).toBe('out');
    expect(afterTool(message, text(''))).toBe('The tool bash returned nothing.');
  });

  test('a failed tool is told in one sentence', () => {
    const failed = (output: LanguageModelV4ToolResultOutput) => afterTool('Summarise nope.md', output);
    expect(failed({ type: 'error-text', value: 'There is no nope.md\nstack' })).toBe(
      'The tool read_file failed: There is no nope.md.',
    );
    expect(failed({ type: 'execution-denied' })).toBe('The tool read_file failed: it was not allowed.');
  });

  test('an attached file is asked', () => {
    const file = attachedFileText('facts.txt', 'The sky is blue.\nThe secret token is ALPHA-7.2. Keep it well.');
    expect(said('Reply with only the secret token from the attached file.', file)).toBe('ALPHA-7.2');
    expect(said(file, 'Which colour has the sky?')).toBe('The sky is blue.');
    expect(said(file, 'Summarise facts.txt in 1 bullet')).toBe('- The sky is blue.');
    expect(said(file, 'Reply with exactly: ok')).toBe('ok');
    expect(said(attachedFileText('empty.txt', ''), 'What is in it?')).toBe('The attached file is empty.');
  });
});

test('E-908: the help says what the script is, and names no form whose tool is not offered', () => {
  expect(said('What can you do?')).toMatch(/a script, not an AI[^]*Summarise FILE[^]*Run this shell command/);
  const without = answerDemo({ prompt: user('What can you do?'), tools: [tool('read_file', 'path')] });
  expect(without).toMatchObject({ text: expect.stringMatching(/Summarise FILE[^]*Call the tool/) });
  expect(JSON.stringify(without)).not.toMatch(/shell|Create a file/);
});

test('matching is total, and hostile messages cost no more than long ones', () => {
  const prefixes = [
    '',
    'Summarise ',
    'Reply with exactly: ',
    'Create a file named ',
    'Call the tool x with ',
    'Run this shell command',
  ];
  fc.assert(
    fc.property(fc.constantFrom(...prefixes), fc.string({ unit: 'binary' }), (prefix, rest) => {
      expect(answer(prefix + rest).kind).toMatch(/text|call/);
      expect(said(attachedFileText(rest, rest), prefix + rest)).toBeDefined();
    }),
  );
  // A pattern that is quadratic in these does not end within the time of a test.
  for (const unit of [' ', '\n', 'a ', '| ', '- ', '`', '.', '"', 'in ', '[', ' is ', '-', ':', '😀']) {
    const long = unit.repeat(100_000);
    for (const prefix of prefixes) answer(prefix + long);
    answer('Reply with only the ' + long, attachedFileText('a', long));
    afterTool('Summarise a', text(long));
  }
});

interface Timed {
  readonly atMs: number;
  readonly part: ModelPart;
}

async function timeline(request: ModelRequest, speed: 'human' | 'full' = 'human'): Promise<readonly Timed[]> {
  const clock = createManualClock(0);
  const { stream } = await createDemoModel({ clock, speed }).doStream(request);
  const timed: Timed[] = [];
  const reading = (async () => {
    for await (const part of stream) timed.push({ atMs: clock.now(), part });
  })();
  if (speed === 'human') await clock.advance(60_000);
  await reading;
  expect(clock.pending).toBe(0);
  return timed;
}
const deltas = (timed: readonly Timed[]) =>
  timed.flatMap(({ atMs, part }) => (part.type === 'text-delta' ? [{ atMs, delta: part.delta }] : []));

describe('E-909: the pace', () => {
  test.each(['ok', 'x', 'one two', 'one two three', 'Ein 😀 Satz mit acht Wörtern, nicht mehr.'])(
    '%j takes 700 ms in three deltas or more',
    async (x) => {
      const pieces = deltas(await timeline({ prompt: user(`Reply with exactly: ${x}`) }));
      expect(pieces.length).toBeGreaterThanOrEqual(3);
      expect(pieces[0]?.atMs).toBe(300);
      expect(pieces.at(-1)?.atMs).toBeGreaterThanOrEqual(700);
      expect(pieces.map(({ delta }) => delta).join('')).toBe(x.replace(/\.$/, ''));
      expect(pieces.every(({ delta }) => delta.isWellFormed())).toBe(true);
    },
  );

  test('words come twenty a second, numbers five a second', async () => {
    const words = deltas(await timeline({ prompt: user(`Reply with exactly: ${'word '.repeat(40)}end`) }));
    expect(words.at(-1)?.atMs).toBe(300 + 40 * 50);
    const numbers = deltas(await timeline({ prompt: user('Count slowly from 1 to 11') }));
    expect(numbers.map(({ atMs }) => atMs)).toEqual(Array.from({ length: 11 }, (_, at) => 300 + at * 200));
  });

  test('full speed waits for nothing and says the same', async () => {
    const request = { prompt: user('Count slowly from 1 to 5') };
    const [slow, fast] = [await timeline(request), await timeline(request, 'full')];
    expect(fast.map(({ part }) => part)).toEqual(slow.map(({ part }) => part));
    expect(fast.at(-1)?.atMs).toBe(0);
  });
});

test('the parts are those of a provider: one block, a raw finish reason, usage unknown', async () => {
  const parts = (await timeline({ prompt: user('Reply with exactly: ok') }, 'full')).map(({ part }) => part);
  expect(parts.map(({ type }) => type)).toEqual([
    'stream-start',
    'response-metadata',
    'text-start',
    ...Array<string>(3).fill('text-delta'),
    'text-end',
    'finish',
  ]);
  expect(parts.at(-1)).toMatchObject({ finishReason: { raw: 'stop' }, usage: { inputTokens: { total: undefined } } });
});

test('UD-03: a reply budget cuts the answer, and the finish says so; one that suffices cuts nothing', async () => {
  const play = async (maxOutputTokens: number) => {
    const parts = await timeline({ prompt: user('Count slowly from 1 to 5'), maxOutputTokens }, 'full');
    return { deltas: deltas(parts).length, end: parts.at(-1)?.part };
  };
  expect(await play(2)).toMatchObject({ deltas: 2, end: { finishReason: { unified: 'length', raw: 'length' } } });
  expect(await play(5)).toMatchObject({ deltas: 5, end: { finishReason: { unified: 'stop' } } });
});

test('a call comes in pieces that join to its input, under an id that is new in the conversation', async () => {
  const before: LanguageModelV4Prompt = [
    { role: 'assistant', content: [{ type: 'tool-call', toolCallId: 'call_demo_1', toolName: 'bash', input: {} }] },
  ];
  const prompt = [...before, ...user('Run this shell command: echo a b')];
  const parts = (await timeline({ prompt, tools })).map(({ part }) => part);
  const input = parts.flatMap((part) => (part.type === 'tool-input-delta' ? [part.delta] : [])).join('');
  expect(parts.at(-2)).toEqual({ type: 'tool-call', toolCallId: 'call_demo_2', toolName: 'bash', input });
  expect(JSON.parse(input)).toEqual({ command: 'echo a b' });
  expect(parts.at(-1)).toMatchObject({ finishReason: { unified: 'tool-calls', raw: 'tool_calls' } });
});

test('an abort ends the stream at once with its reason, a cancel leaves no timer', async () => {
  const clock = createManualClock();
  const model = createDemoModel({ clock, speed: 'human' });
  const stop = new AbortController();
  const request = { prompt: user('Count slowly from 1 to 200'), abortSignal: stop.signal };
  const reading = Array.fromAsync((await model.doStream(request)).stream);
  reading.catch(() => undefined);
  await clock.advance(1_000);
  stop.abort(new Error('stopped'));
  await expect(reading).rejects.toThrow('stopped');
  expect(clock.pending).toBe(0);
  expect(() => model.doStream(request)).toThrow('stopped');

  const { stream } = await model.doStream({ prompt: request.prompt });
  const reader = stream.getReader();
  await reader.read();
  await reader.read();
  const third = reader.read();
  await clock.advance(10);
  await reader.cancel();
  expect(await third).toMatchObject({ done: true });
  expect(clock.pending).toBe(0);
});
