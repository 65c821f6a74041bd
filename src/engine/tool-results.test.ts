// From what a tool gave to what the model reads: long, strange and binary results, middleware, calls in circles.

import { describe, expect, test } from 'vitest';
import { countingTool } from '../testing/counting-tool.ts';
import { createEngineRig, type EngineRig } from '../testing/engine-rig.ts';
import { simpleCall, simpleCalls, simpleText } from '../testing/model-servers/reply-script.ts';
import { silentLogger } from '../core/logger.ts';
import { StorageError } from '../core/errors.ts';
import type { ContentStore } from './content-store.ts';
import type { Middleware } from './middleware.ts';
import type { Tool, ToolOutput } from './tool.ts';

const done = simpleText('Done.');

async function answerTo(
  output: unknown,
  options: {
    readonly middleware?: readonly Middleware[];
    readonly maxResultChars?: number;
    readonly putContent?: ContentStore['putContent'];
  } = {},
) {
  const tool = countingTool('get', { run: async () => output as ToolOutput });
  const { middleware = [], maxResultChars, putContent } = options;
  const heard: string[] = [];
  const logger = {
    ...silentLogger,
    error: (_: string, _facts: unknown, cause: unknown) => void heard.push(String(cause)),
  };
  const rig = createEngineRig({
    replies: [simpleCall('a', 'get', {}), done],
    tools: [tool],
    ...(maxResultChars === undefined ? {} : { limits: { maxResultChars } }),
    parts: { middleware, logger, ...(putContent && { content: { putContent, content: async () => null } }) },
  });
  expect(await rig.run()).toMatchObject({ status: 'completed' });
  return { rig, answer: rig.answers()['a'] ?? '', tool, heard };
}

describe('E-550: a long result', () => {
  const long = Array.from({ length: 100_000 }, (_, index) => String(index % 10)).join('');

  test('is shown as head and tail with a line between them that says how to go on, and kept whole', async () => {
    const { rig, answer } = await answerTo({ content: long });
    expect(answer.length).toBeLessThan(12_200);
    expect(answer.startsWith(long.slice(0, 8000))).toBe(true);
    expect(answer.endsWith(long.slice(-4000))).toBe(true);
    expect(answer).toContain(
      '88000 of 100000 characters left out; read on with read_tool_result(id: "a", offset: 8000',
    );
    const spill = rig.events('tool-result')[0]?.data.spill;
    expect(new TextDecoder().decode((await rig.content.content(spill?.ref ?? '')) ?? undefined)).toBe(long);
    expect(JSON.stringify(rig.log).length).toBeLessThan(50_000);
  });

  test('of 10 MB costs the log no more than one of 13 kB', async () => {
    const { rig, answer } = await answerTo({ content: 'x'.repeat(10_000_000) });
    expect(answer.length).toBeLessThan(12_200);
    expect(JSON.stringify(rig.log).length).toBeLessThan(50_000);
  });

  test('can be paged through, and a page is not cut again', async () => {
    const tool = countingTool('get', { run: async () => ({ content: long }) });
    const page = simpleCall('p', 'read_tool_result', { id: 'a', offset: 8000, limit: 8000 });
    const rig = createEngineRig({
      replies: [simpleCall('a', 'get', {}), page, done],
      tools: [tool],
      limits: { maxResultChars: 500 },
    });
    await rig.run();
    expect(rig.answers()['p']).toContain(long.slice(8000, 16_000));
  });

  test('E-551: is never cut inside a character', async () => {
    const { answer } = await answerTo({ content: '😀'.repeat(20_000) }, { maxResultChars: 11_999 });
    expect(answer.isWellFormed()).toBe(true);
    expect(answer).not.toContain('\uFFFD');
  });
});

describe('E-551, B016: a strange result', () => {
  const cycle: Record<string, unknown> = { n: 1 };
  cycle['self'] = cycle;
  test.each([
    ['a lone surrogate', { content: 'a\ud800b' }, 'a\uFFFDb'],
    ['a BigInt', { n: 12n }, '{"n":"12"}'],
    ['a cycle', cycle, '{"n":1,"self":"[circular]"}'],
    ['a date', { at: new Date(0) }, '{"at":"1970-01-01T00:00:00.000Z"}'],
    ['nothing', undefined, 'null'],
    ['a function', { f: () => 1, n: 2 }, '{"n":2}'],
  ])('%s becomes text by fixed rules', async (_, output, expected) => {
    expect((await answerTo(output)).answer).toBe(expected);
  });

  test('one whose content throws is an error result', async () => {
    const hostile = {
      get content(): string {
        throw new Error('no');
      },
    };
    expect((await answerTo(hostile)).answer).toContain('The tool failed: no');
  });
});

test('E-552: what is binary is kept by reference, does not count as text, and a model that cannot take it reads what it is', async () => {
  const data = new Uint8Array(50_000);
  const { rig, answer } = await answerTo({ content: 'See.', media: [{ mediaType: 'audio/wav', data }] });
  expect(answer).toBe('See.');
  expect(rig.events('tool-result')[0]?.data.media).toMatchObject([{ mediaType: 'audio/wav', bytes: 50_000 }]);
  expect(JSON.stringify(rig.model.calls[1]?.prompt.at(-1))).toContain('audio/wav');
});

describe('E-532: result middleware', () => {
  const upper: Middleware = { afterTool: ({ content, isError }) => ({ content: content.toUpperCase(), isError }) };

  test('changes what the model reads, not the raw result', async () => {
    const { rig, answer } = await answerTo({ content: 'quiet' }, { middleware: [upper] });
    expect([answer, rig.events('tool-call-complete')[0]?.data._raw]).toEqual(['QUIET', 'quiet']);
  });

  test('that throws is asked once more, then the model gets an error; the tool is not run again', async () => {
    let asked = 0;
    const failing = (times: number): Middleware => ({
      afterTool(result) {
        if (++asked <= times) throw new Error('no');
        return result;
      },
    });
    expect(await answerTo({ content: 'ok' }, { middleware: [failing(1)] })).toMatchObject({ answer: 'ok' });
    asked = 0;
    const { rig, answer, tool, heard } = await answerTo({ content: 'ok' }, { middleware: [failing(9)] });
    expect(answer).toContain('could not be processed');
    expect([rig.events('tool-result')[0]?.data.isError, tool.runs.length, asked]).toEqual([true, 1, 2]);
    expect(heard).toEqual(['Error: no', 'Error: no']);
  });

  test('13.2 row 9: after a crash behind the stored result it is asked for that one, and the tool is not run', async () => {
    const tool = countingTool('get');
    const rig = createEngineRig({
      replies: [simpleCall('a', 'get', {}), done],
      tools: [tool],
      parts: { middleware: [upper] },
    });
    await rig.run({ leaveAt: 'tool-call-complete' });
    expect(await rig.recover()).toMatchObject({ status: 'completed' });
    expect([rig.answers()['a'], tool.runs.length]).toEqual(['GET RAN', 1]);
  });

  test('13.2 row 9: the same without middleware, for a log that was cut there', async () => {
    const tool = countingTool('get');
    const rig = createEngineRig({ replies: [simpleCall('a', 'get', {}), done], tools: [tool] });
    await rig.run();
    const cut = rig.log.slice(0, rig.events('tool-call-complete')[0]?.seq);
    const next = createEngineRig({ replies: [done], tools: [tool] });
    expect(await next.recover(cut)).toMatchObject({ status: 'completed' });
    expect([next.answers()['a'], tool.runs.length]).toEqual(['get ran', 1]);
  });
});

describe('E-105, E-550: a content store that cannot keep a result', () => {
  const output = { content: `${'a'.repeat(20_000)}END`, media: [{ mediaType: 'image/png', data: new Uint8Array(3) }] };

  test('for a moment is asked again', async () => {
    let fails = 2;
    const { rig, answer } = await answerTo(output, {
      putContent: async () => (fails-- > 0 ? Promise.reject(new StorageError('busy')) : { ref: 'r', bytes: 1 }),
    });
    expect(answer).toContain('read_tool_result');
    expect(rig.events('tool-result')[0]?.data).toMatchObject({ spill: { ref: 'r' }, media: [{ ref: 'r' }] });
  });

  test('costs what it cannot keep, not the rest of a result that is known', async () => {
    const { rig, answer, heard, tool } = await answerTo(output, {
      putContent: () => Promise.reject(new StorageError('disk full')),
    });
    expect(answer).toMatch(/characters left out …\]\na+END\n\[The rest could not be kept\.\]\n\[.*image\/png.*\]$/);
    expect(answer).not.toContain('read_tool_result');
    const [complete] = rig.events('tool-call-complete');
    expect([complete?.data.outcome, complete?.data._raw, tool.runs.length]).toEqual(['ok', answer, 1]);
    expect(heard).toContain('StorageError: disk full');
  });
});

describe('E-560: calls in circles', () => {
  const circle = (facts: Partial<Tool>, input: (index: number) => object, onRepetition?: (note: string) => void) => {
    const rig: EngineRig = createEngineRig({
      replies: (_, index) => (index < 4 ? simpleCall(`c${index}`, 'get', { ...input(index) }) : done),
      tools: [countingTool('get', facts)],
      ...(onRepetition === undefined ? {} : { onRepetition }),
    });
    return rig;
  };
  const noted = (rig: EngineRig) => Object.values(rig.answers()).map((answer) => answer.includes('[Note:'));

  test('from the third lap on a note stands with the result, and hooks are told', async () => {
    const notes: string[] = [];
    const rig = circle(
      {},
      () => ({}),
      (note) => notes.push(note),
    );
    await rig.run();
    expect(noted(rig)).toEqual([false, false, true, true]);
    expect(notes).toHaveLength(2);
  });

  test('other arguments, or other results, are no lap', async () => {
    const arguing = circle({}, (n) => ({ n }));
    await arguing.run();
    let runs = 0;
    const changing = circle({ run: async () => ({ content: String(++runs) }) }, () => ({}));
    await changing.run();
    expect([noted(arguing), noted(changing)]).toEqual([Array(4).fill(false), Array(4).fill(false)]);
  });

  test('refused arguments are laps as well', async () => {
    const rig = circle({}, () => ({ wrong: true }));
    await rig.run();
    expect(noted(rig)).toEqual([false, false, true, true]);
  });

  test('a cycle of four calls is found, one of five is not', async () => {
    const laps = async (period: number) => {
      const calls = Array.from({ length: period }, (_, index) => [`c${index}`, 'get', { n: index }] as const);
      const rig = createEngineRig({
        replies: (_, index) => (index < 3 ? simpleCalls(...calls) : done),
        tools: [countingTool('get', { concurrent: false })],
      });
      await rig.run();
      return JSON.stringify(rig.log).includes('[Note:');
    };
    expect([await laps(4), await laps(5)]).toEqual([true, false]);
  });

  test('the guard changes no arguments and skips no call', async () => {
    const tool = countingTool('get');
    const rig = createEngineRig({
      replies: (_, index) => (index < 6 ? simpleCall('c', 'get', { n: 1 }) : done),
      tools: [tool],
    });
    await rig.run();
    expect(tool.runs).toEqual(Array.from({ length: 6 }, () => ({ n: 1 })));
  });
});
