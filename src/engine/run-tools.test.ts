// The execution of a batch: order, width, timeouts, retries, notices. Unknown outcomes: `unknown-outcome.test.ts`.

import { describe, expect, test } from 'vitest';
import { countingTool } from '../testing/counting-tool.ts';
import { createEngineRig, type EngineRig } from '../testing/engine-rig.ts';
import { defaultPolicies } from './policies.ts';
import { simpleCall, simpleCalls, simpleText } from '../testing/model-servers/reply-script.ts';
import { sleep } from '../core/clock.ts';
import { TransientToolError } from '../core/errors.ts';
import type { Tool, ToolContext, ToolRetry } from './tool.ts';

const done = simpleText('Done.');
const outcomes = (rig: EngineRig) => rig.events('tool-call-complete').map(({ data }) => [data.id, data.outcome]);

/** Runs three tools, each slower than the one after it, and says in which order they began and ended. */
async function runThree(facts: Partial<Tool>, maxConcurrent = 8) {
  const order: string[] = [];
  const tools = ['c', 'b', 'a'].map((name, index) =>
    countingTool(name, {
      ...(name === 'b' ? facts : {}),
      run: async () => {
        order.push(`+${name}`);
        await sleep(rig.clock, (3 - index) * 10_000);
        order.push(`-${name}`);
        return { content: name };
      },
    }),
  );
  const policies = { tools: { ...defaultPolicies.tools, maxConcurrent } };
  const rig: EngineRig = createEngineRig({
    replies: [simpleCalls(['1', 'c', {}], ['2', 'b', {}], ['3', 'a', {}]), done],
    tools,
    policies,
  });
  await rig.run();
  return { order: order.join(' '), rig };
}

describe('E-533: a batch', () => {
  test('runs in parallel, each result is committed when its call ends, and the transcript has them in call order', async () => {
    const { order, rig } = await runThree({});
    expect(order).toBe('+c +b +a -a -b -c');
    expect(rig.events('tool-result').map(({ data }) => data.toolCallId)).toEqual(['3', '2', '1']);
    const results = rig.events('tool-result');
    expect((results[1]?.at ?? 0) - (results[0]?.at ?? 0)).toBe(10_000);
    const message = rig.model.calls[1]?.prompt.at(-1);
    expect(
      message?.role === 'tool' ? message.content.map((part) => 'toolCallId' in part && part.toolCallId) : [],
    ).toEqual(['1', '2', '3']);
  });

  test('with one call that may not run beside others goes one by one, in call order', async () => {
    expect((await runThree({ concurrent: false })).order).toBe('+c -c +b -b +a -a');
  });

  test('is never wider than maxConcurrent', async () => {
    expect((await runThree({}, 2)).order).toBe('+c +b -b +a -c -a');
  });

  test('E-534: a call that fails takes none with it', async () => {
    const tools = [countingTool('bad', { run: () => Promise.reject(new Error('broken')) }), countingTool('good')];
    const rig = createEngineRig({ replies: [simpleCalls(['1', 'bad', {}], ['2', 'good', {}]), done], tools });
    await rig.run();
    expect(Object.fromEntries(outcomes(rig))).toEqual({ 1: 'error', 2: 'ok' });
  });

  test('E-126, E-127: mixed of good, refused and failing calls, has one start, completion and answer for each, before the next step', async () => {
    const tools = [countingTool('good'), countingTool('bad', { run: async () => ({ content: 'no', isError: true }) })];
    const reply = simpleCalls(['1', 'good', {}], ['2', 'nothing', {}], ['3', 'bad', {}], ['4', 'good', { n: 'x' }]);
    const rig = createEngineRig({ replies: [reply, done], tools });
    expect(await rig.run()).toMatchObject({ output: 'Done.' });
    for (const type of ['tool-call-start', 'tool-call-complete', 'tool-result'] as const)
      expect(rig.events(type)).toHaveLength(4);
    expect(Object.fromEntries(outcomes(rig))).toEqual({ 1: 'ok', 2: 'invalid', 3: 'error', 4: 'invalid' });
  });
});

describe('E-534, B016: what a handler throws', () => {
  const failing = async (run: Tool['run'], redact?: (text: string) => string) => {
    const rig = createEngineRig({
      replies: [simpleCall('a', 'bad', {}), done],
      tools: [{ ...countingTool('bad'), run }],
      ...(redact === undefined ? {} : { parts: { redact } }),
    });
    expect(await rig.run()).toMatchObject({ status: 'completed' });
    return rig.answers()['a'];
  };

  test('at once, before it gives a promise, is its error result', async () => {
    const throwing = () => {
      throw new Error('at once');
    };
    expect(await failing(throwing)).toBe('The tool failed: at once');
  });

  test('is redacted, and has no stack', async () => {
    const answer = await failing(
      () => Promise.reject(new Error('key sk-1 is wrong')),
      (text) => text.replace('sk-1', '***'),
    );
    expect(answer).toBe('The tool failed: key *** is wrong');
  });

  test('may be anything', async () => {
    expect(await failing(() => Promise.reject({ no: 'error' }))).toContain('The tool failed');
  });
});

describe('what a handler is given', () => {
  test('E-530: the key of its execution, the same for each attempt, and the digest of its arguments, whatever their order', async () => {
    const contexts: ToolContext[] = [];
    const retry: ToolRetry = { attempts: 3, backoffSeconds: 0.5, maxBackoffSeconds: 30, retryErrorResults: false };
    const flaky = countingTool('add', {
      replay: 'idempotent',
      retry,
      run: async (_, context) => {
        contexts.push(context);
        if (contexts.length < 3) throw new TransientToolError('not yet');
        return { content: 'ok' };
      },
    });
    const rig = createEngineRig({ replies: [simpleCall('a', 'add', {}), done], tools: [flaky] });
    await rig.run();
    expect(contexts.map(({ executionKey, toolAttempt }) => [executionKey, toolAttempt])).toEqual(
      [1, 2, 3].map((n) => ['resp_rig:1:a', n]),
    );
    const digests = rig.events('tool-dispatched').map(({ data }) => data.argsDigest);
    expect(new Set(digests).size).toBe(1);
    expect(digests[0]).toMatch(/^[0-9a-f]{64}$/);
  });

  test('E-532: its intent is in the log before it is called', async () => {
    let known: readonly string[] = [];
    const tool = countingTool('add', {
      run: async () => {
        known = rig.log.map(({ type }) => type);
        return { content: '' };
      },
    });
    const rig: EngineRig = createEngineRig({ replies: [simpleCall('a', 'add', {}), done], tools: [tool] });
    await rig.run();
    expect(known.slice(-2)).toEqual(['tool-call-start', 'tool-dispatched']);
  });

  test('O1, E-126: what it shows while it works is live, in order, and ends with it', async () => {
    const tool = countingTool('add', {
      run: async (_, { show }) => {
        show('one ');
        show('two');
        setTimeout(() => show('late'), 0);
        return { content: 'done' };
      },
    });
    const rig = createEngineRig({ replies: [simpleCall('a', 'add', {}), done], tools: [tool] });
    await rig.run();
    expect(rig.events('tool-output-delta').map(({ data }) => data.text)).toEqual(['one two']);
  });
});

test('O2: what a handler shows faster than it can be taken is cut, with one note', async () => {
  const tool = countingTool('add', {
    run: async (_, { show }) => (show('y'.repeat(100_000)), show('END'), { content: 'done' }),
  });
  const rig = createEngineRig({ replies: [simpleCall('a', 'add', {}), done], tools: [tool] });
  await rig.run();
  const shown = rig.events('tool-output-delta').map(({ data }) => data.text);
  expect(shown).toEqual([expect.stringMatching(/^y{65536}\n\[Output .* left out here\.\]\n$/)]);
});

describe('timeouts', () => {
  const deaf: Tool['run'] = () => new Promise(() => {});
  const timedOut = async (facts: Partial<Tool>, people: 'park' | 'deny' = 'deny') => {
    const rig = createEngineRig({
      replies: [simpleCall('a', 'slow', {}), done],
      tools: [countingTool('slow', facts)],
      people: { how: people },
    });
    await rig.run();
    return rig.events('tool-call-complete')[0]?.data;
  };

  test('E-500: a tool has 300 s unless it says otherwise; null is for ever', async () => {
    expect(await timedOut({ run: deaf })).toMatchObject({ outcome: 'timeout', durationMs: 305_000 });
    const rig = createEngineRig({
      replies: [simpleCall('a', 'slow', {}), done],
      tools: [
        countingTool('slow', {
          timeoutSeconds: null,
          run: async () => (await sleep(rig.clock, 3_000_000), { content: 'ok' }),
        }),
      ],
    });
    expect(await rig.run()).toMatchObject({ output: 'Done.' });
  });

  test('E-536: a handler that ignores its signal is abandoned after 5 s, and what it gives later is thrown away', async () => {
    const late: Tool['run'] = async () => (await sleep(rig.clock, 60_000), { content: 'late' });
    const slow = countingTool('slow', { timeoutSeconds: 10, run: late });
    const wait = countingTool('wait', { run: async () => (await sleep(rig.clock, 120_000), { content: 'waited' }) });
    const rig: EngineRig = createEngineRig({
      replies: [simpleCall('a', 'slow', {}), simpleCall('b', 'wait', {}), done],
      tools: [slow, wait],
    });
    await rig.run();
    expect(rig.events('tool-call-complete')).toMatchObject([
      { data: { outcome: 'timeout', durationMs: 15_000 } },
      { data: { outcome: 'ok' } },
    ]);
    expect(JSON.stringify(rig.log)).not.toContain('late');
  });

  test('E-545: the model reads that the tool may have run in part', async () => {
    const obedient: Tool['run'] = (_, { signal }) =>
      new Promise((resolve) => signal.addEventListener('abort', () => resolve({ content: 'half' })));
    const complete = await timedOut({ timeoutSeconds: 10, run: obedient });
    expect(complete).toMatchObject({
      outcome: 'timeout',
      _raw: 'half\nThe tool was stopped at its time limit; it may have partly run.',
    });
  });
});

describe('E-544: retries of a tool', () => {
  const retry: ToolRetry = { attempts: 3, backoffSeconds: 2, maxBackoffSeconds: 3, retryErrorResults: false };
  async function attempts(facts: Partial<Tool>) {
    const tool = countingTool('add', { retry, ...facts });
    const rig = createEngineRig({ replies: [simpleCall('a', 'add', {}), done], tools: [tool] });
    expect(await rig.run()).toMatchObject({ status: 'completed' });
    return { runs: tool.runs.length, outcome: rig.events('tool-call-complete')[0]?.data.outcome, rig };
  }
  const busy: Tool['run'] = () => Promise.reject(new TransientToolError('busy'));
  const lost: Tool['run'] = () => Promise.reject(Object.assign(new Error('read failed'), { code: 'ECONNRESET' }));

  test('a safe or idempotent one is tried again, with a growing wait, and at the last attempt its error stands', async () => {
    const { runs, outcome, rig } = await attempts({ replay: 'safe', run: busy });
    expect([runs, outcome]).toEqual([3, 'error']);
    const at = rig.events('tool-dispatched').map((event) => event.at);
    expect(at.map((ms) => ms - (at[0] ?? 0))).toEqual([0, 2000, 5000]);
    expect(await attempts({ replay: 'idempotent', run: lost })).toMatchObject({ runs: 3 });
  });

  test('a manual one is not, nor one whose failure would not pass', async () => {
    expect(await attempts({ run: busy })).toMatchObject({ runs: 1, outcome: 'error' });
    expect(await attempts({ replay: 'safe', run: () => Promise.reject(new Error('no such file')) })).toMatchObject({
      runs: 1,
    });
  });

  test('an error result that looks transient is retried where that is switched on', async () => {
    const run: Tool['run'] = async () => ({ content: 'Rate limit reached.', isError: true });
    expect(await attempts({ replay: 'safe', run })).toMatchObject({ runs: 1 });
    expect(await attempts({ replay: 'safe', run, retry: { ...retry, retryErrorResults: true } })).toMatchObject({
      runs: 3,
    });
  });

  test('E-533: results of others are committed while one waits for its next attempt', async () => {
    const flaky = countingTool('flaky', {
      replay: 'safe',
      retry: { ...retry, backoffSeconds: 30, maxBackoffSeconds: 30 },
      run: busy,
    });
    const slow = countingTool('slow', { run: async () => (await sleep(rig.clock, 5000), { content: 'ok' }) });
    const rig: EngineRig = createEngineRig({
      replies: [simpleCalls(['1', 'flaky', {}], ['2', 'slow', {}]), done],
      tools: [flaky, slow],
    });
    await rig.run();
    const second = rig.events('tool-result').find(({ data }) => data.toolCallId === '2');
    expect((second?.at ?? 0) - (rig.log[0]?.at ?? 0)).toBe(5000);
  });
});

describe('E-334: notices of slow tools', () => {
  const slow = (tools: boolean) => {
    const tool = countingTool('slow', { run: async () => (await sleep(rig.clock, 41_000), { content: 'ok' }) });
    const rig: EngineRig = createEngineRig({
      replies: [simpleCall('a', 'slow', {}), done],
      tools: [tool],
      policies: { progress: { ...defaultPolicies.progress, tools } },
    });
    return rig;
  };

  test('are off by default', async () => {
    const rig = slow(false);
    await rig.run();
    expect(rig.events('waiting')).toEqual([]);
  });

  test('E-132: name the tool and rise until it ends', async () => {
    const rig = slow(true);
    await rig.run();
    expect(rig.events('waiting').map(({ data }) => data)).toEqual(
      [10, 25, 40].map((seconds) => ({ on: 'tool', seconds, name: 'slow' })),
    );
  });
});

test('E-531: files that a call changed stand before its completion, with its key', async () => {
  const files = [{ kind: 'create', path: 'a.txt' }] as const;
  const tool = countingTool('add', { run: async () => ({ content: 'ok', files }) });
  const rig = createEngineRig({ replies: [simpleCall('a', 'add', {}), done], tools: [tool] });
  await rig.run();
  expect(rig.events('file-changed')).toMatchObject([{ data: { path: 'a.txt', executionKey: 'resp_rig:1:a' } }]);
  const types = rig.log.map(({ type }) => type);
  expect(types.indexOf('file-changed')).toBe(types.indexOf('tool-call-complete') - 1);
});
