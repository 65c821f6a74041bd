// The parts that an agent is put together from, each a real one: folders, child processes, spans of a real SDK.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { describe, expect, onTestFinished, test } from 'vitest';
import { checkLog } from './testing/check-log.ts';
import { createAgent } from './agent.ts';
import { createManualClock } from './testing/manual-clock.ts';
import { defineTool } from './engine/define-tool.ts';
import { loadConfig } from './config.ts';
import { simpleCall, simpleText, type ScriptedReply } from './testing/model-servers/reply-script.ts';
import { startModelServer } from './testing/model-servers/model-server.ts';
import { clockServer } from '../test/support/clock-server.ts';
import { collect, noSettings, scriptedAgent } from '../test/support/agents.ts';
import type { HookName } from './engine/hooks.ts';
import type { ModelRequest } from './engine/model.ts';
import type { RunEvent, RunEventOf } from './core/run-event.ts';

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'reins-agent-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

const offered = (request: ModelRequest | undefined) => (request?.tools ?? []).map(({ name }) => name);
const resultsIn = (events: readonly RunEvent[]) =>
  events.filter((event): event is RunEventOf<'tool-result'> => event.type === 'tool-result').map(({ data }) => data);
/** The events of a run that calls one tool and says so. */
const playing = (call: ScriptedReply) => [call, simpleText('Done.')];

test('E-020: an agent with no parts at all answers with the demo model', async () => {
  await using agent = createAgent({}, { settings: noSettings });
  expect(await agent.run('Reply with exactly: hello')).toMatchObject({ ok: true, output: 'hello' });
});

describe('folders', () => {
  test('E-570: a workspace gives the file tools, and every tool is run in it', async () => {
    const workspace = temporaryFolder();
    writeFileSync(join(workspace, 'notes.txt'), 'First thing.');
    const where = defineTool({
      name: 'where',
      description: 'Says where it is.',
      input: { type: 'object', properties: {} },
      run: (_, context) => context.workspace,
    });
    await using rig = scriptedAgent(
      [simpleCall('a', 'read_file', { path: 'notes.txt' }), ...playing(simpleCall('b', 'where', {}))],
      { workspace, tools: [where] },
    );
    const results = resultsIn(await collect(rig.agent.runStream('Read')));
    expect(results.map(({ content }) => content)).toEqual([expect.stringContaining('First thing.'), workspace]);
  });

  test('E-904: skills stand in the prompt, and are read when they are wanted', async () => {
    const skills = temporaryFolder();
    mkdirSync(join(skills, 'knots'));
    writeFileSync(
      join(skills, 'knots', 'SKILL.md'),
      '---\nname: knots\ndescription: Ties knots.\n---\nOver, then under.\n',
    );
    const told: HookName[] = [];
    await using rig = scriptedAgent(playing(simpleCall('a', 'read_skill', { name: 'knots' })), {
      skills: [skills],
      hooks: { 'skill-invoked': ({ hook }) => void told.push(hook) },
    });
    const [result] = resultsIn(await collect(rig.agent.runStream('Tie')));
    expect(JSON.stringify(rig.model.calls[0]?.prompt[0])).toContain('knots: Ties knots.');
    expect([result?.content, told]).toEqual([expect.stringContaining('Over, then under.'), ['skill-invoked']]);
  });
});

test('E-570: a shell gives the tool bash', async () => {
  const workspace = temporaryFolder();
  await using rig = scriptedAgent(
    playing(simpleCall('a', 'bash', { command: 'echo $((6 * 7)) > answer; cat answer' })),
    {
      workspace,
      shell: { kind: 'interpreted' },
    },
  );
  const [result] = resultsIn(await collect(rig.agent.runStream('Count')));
  expect(result).toMatchObject({ isError: false, content: expect.stringContaining('42') });
});

test('fetch gives the tool fetch_url; disabledTools takes any tool away', async () => {
  const names = async (disabledTools: string[]) => {
    await using rig = scriptedAgent([simpleText('Hello')], { fetch: true, config: { disabledTools } });
    await rig.agent.run('Hi');
    return offered(rig.model.calls[0]);
  };
  expect(await names([])).toContain('fetch_url');
  expect(await names(['fetch_url'])).not.toContain('fetch_url');
});

describe('E-903: MCP servers', () => {
  test('are started for the first run, ask before each call, and end with the agent', async () => {
    const { agent, model } = scriptedAgent(playing(simpleCall('a', 'clock_tell', {})), {
      mcp: [clockServer(temporaryFolder())],
    });
    const asked: string[] = [];
    const events = await collect(
      agent.runStream('What time is it?', { onApproval: ({ call }) => asked.push(call.name) > 0 }),
    );
    expect(offered(model.calls[0])).toContain('clock_tell');
    expect(asked).toEqual(['clock_tell']);
    const pid = Number(resultsIn(events)[0]?.content);
    expect(() => process.kill(pid, 0)).not.toThrow();
    await agent.close();
    await expect.poll(() => isGone(pid)).toBe(true);
  });

  test('one that cannot be started costs its tools, not the run', async () => {
    await using rig = scriptedAgent([simpleText('Hello')], {
      mcp: [{ transport: 'stdio', name: 'none', command: '/no/such/program' }],
    });
    const events = await collect(rig.agent.runStream('Hi'));
    expect(events.find(({ type }) => type === 'step-started')?.data).toMatchObject({ degraded: ['mcp:none'] });
    expect(events.at(-1)).toMatchObject({ data: { status: 'completed' } });
  });
});

function isGone(pid: number): boolean {
  try {
    return process.kill(pid, 0) && false;
  } catch {
    return true;
  }
}

test('E-640: planning gives a task list, told once a batch and kept in the result', async () => {
  const todos = [
    { content: 'Dig', status: 'completed' },
    { content: 'Fill', status: 'in_progress' },
  ];
  await using rig = scriptedAgent(
    [simpleCall('a', 'write_todos', { todos }), simpleText('Dug.'), simpleText('Still.')],
    {
      config: { planning: true },
    },
  );
  const stream = rig.agent.runStream('Dig');
  const told = (await collect(stream)).filter(({ type }) => type === 'todos-updated');
  expect(told.map(({ data }) => data)).toEqual([{ todos, completed: 1, total: 2, inProgress: 'Fill' }]);
  expect((await stream.result()).todos).toEqual(todos);
});

test('E-901: hooks are told in order, and one that fails changes nothing', async () => {
  const told: string[] = [];
  const note = ({ hook }: { readonly hook: HookName }) => void told.push(hook);
  const names: readonly HookName[] = ['run-start', 'step-start', 'model-request', 'tool-start', 'tool-end', 'run-end'];
  await using rig = scriptedAgent(playing(simpleCall('a', 'none', {})), {
    hooks: [
      Object.fromEntries(names.map((name) => [name, note])),
      { 'run-start': () => Promise.reject(new Error('No.')) },
    ],
  });
  expect((await rig.agent.run('Go')).ok).toBe(true);
  await expect.poll(() => told.at(-1)).toBe('run-end');
  expect(told).toEqual([
    'run-start',
    'step-start',
    'model-request',
    'tool-end',
    'step-start',
    'model-request',
    'run-end',
  ]);
});

test('E-907: a tracer gets spans of the run, its sub-agents included', async () => {
  const exporter = new InMemorySpanExporter();
  const tracer = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }).getTracer('test');
  await using rig = scriptedAgent(
    (_, index) => (index === 0 ? simpleCall('a', 'delegate_helper', { task: 'Help' }) : simpleText('Done.')),
    { tracer, config: { name: 'boss' }, subagents: [{ name: 'helper', description: 'Helps.' }] },
  );
  await rig.agent.run('Go');
  const names = exporter.getFinishedSpans().map(({ name }) => name);
  expect(names).toEqual(expect.arrayContaining([expect.stringContaining('boss'), expect.stringContaining('helper')]));
});

test('E-900: middleware stands before and behind models and tools', async () => {
  const seen: string[] = [];
  await using rig = scriptedAgent(playing(simpleCall('a', 'say', { text: 'x' })), {
    tools: [
      defineTool({
        name: 'say',
        description: 'Says.',
        input: { type: 'object', properties: { text: { type: 'string' } } },
        run: ({ text }) => text,
      }),
    ],
    middleware: [
      {
        beforeModel: (request) => ({ ...request, temperature: 0.5 }),
        beforeTool: ({ name }) => ({ name, arguments: '{"text":"changed"}' }),
        afterTool: ({ content, isError }) => ({ content: content.toUpperCase(), isError }),
        transform: () => ({ push: (text) => text.replace('Done', 'Ready'), flush: () => '' }),
      },
    ],
    hooks: { 'run-end': () => void seen.push('end') },
  });
  const stream = rig.agent.runStream('Go');
  const events = await collect(stream);
  expect(checkLog(events)).toEqual([]);
  expect([resultsIn(events)[0]?.content, rig.model.calls[0]?.temperature]).toEqual(['CHANGED', 0.5]);
  expect((await stream.result()).output).toBe('Ready.');
});

describe('E-350, E-063: fallbacks', () => {
  test('answer where the model does not, by their names, and the result says who did', async () => {
    await using server = await startModelServer('openai-chat', () => ({ fault: { kind: 'status', status: 503 } }));
    const env = {
      OPENAI_COMPATIBLE_BASE_URL: server.baseURL,
      OPENAI_COMPATIBLE_API_KEY: 'k',
      REINS_DEMO_SPEED: 'full',
    };
    await using agent = createAgent(
      { model: 'openai-compatible/down', fallbacks: [{ model: 'demo' }] },
      { settings: loadConfig({ env, readFile: () => null }) },
    );
    const stream = agent.runStream('Reply with exactly: hello');
    const events = await collect(stream);
    expect(checkLog(events)).toEqual([]);
    expect(events.filter(({ type }) => type === 'attempt-reset')).toEqual([]);
    expect(await stream.result()).toMatchObject({
      output: 'hello',
      model: {
        requested: { provider: 'openai-compatible', model: 'openai-compatible/down' },
        served: { provider: 'demo', model: 'demo' },
        fallback: true,
      },
    });
  });
});

describe('E-105, E-552: images and files of a message', () => {
  test('bytes are kept by reference and shown to the model; a text file is text under its name', async () => {
    await using rig = scriptedAgent([simpleText('I see.')]);
    const data = new Uint8Array([1, 2, 3]);
    const stream = rig.agent.runStream({
      messageId: 'm1',
      content: [
        { type: 'text', text: 'What is it? \ud800' },
        { type: 'image', mediaType: 'image/png', filename: 'a.png', data },
        { type: 'file', mediaType: 'text/csv', filename: 'b.csv', data: new TextEncoder().encode('a,b\n') },
      ],
    });
    const [started] = await collect(stream);
    expect(started?.data).toMatchObject({
      input: [
        {
          messageId: 'm1',
          content: [
            { type: 'text', text: 'What is it? \ufffd' },
            {
              type: 'media',
              mediaType: 'image/png',
              filename: 'a.png',
              bytes: 3,
              ref: expect.stringMatching(/^sha256:/),
            },
            { type: 'file', filename: 'b.csv', text: 'a,b\n' },
          ],
        },
      ],
    });
    const user = rig.model.calls[0]?.prompt.find(({ role }) => role === 'user')?.content;
    expect(user).toMatchObject([
      { type: 'text' },
      { type: 'file', mediaType: 'image/png', data: { data } },
      { type: 'text' },
    ]);
    expect(JSON.stringify(user)).toMatch(/b\.csv[^]*a,b/);
  });

  test('several messages are one input', async () => {
    await using rig = scriptedAgent([simpleText('Yes.')]);
    await rig.agent.run([{ content: 'One.' }, { content: 'Two.' }]);
    expect(JSON.stringify(rig.model.calls[0]?.prompt)).toMatch(/One\.[^]*Two\./);
  });
});

test('outputSchema and temperature reach the provider', async () => {
  const outputSchema = { type: 'object', properties: { age: { type: 'number' } } };
  await using rig = scriptedAgent([simpleText('{"age":7}')], { config: { outputSchema, temperature: 0 } });
  expect(JSON.parse((await rig.agent.run('How old?')).output)).toEqual({ age: 7 });
  expect(rig.model.calls[0]).toMatchObject({ temperature: 0, responseFormat: { type: 'json', schema: outputSchema } });
});

test('E-335: notices of a slow call come at 10, 25 and 40 s, or never', async () => {
  for (const [firstAfterSeconds, expected] of [
    [10, [10, 25, 40]],
    [null, []],
  ] as const) {
    const clock = createManualClock();
    const slow: ScriptedReply = {
      pieces: [
        { kind: 'pause', ms: 41_000 },
        { kind: 'text', chunks: ['At last.'] },
      ],
    };
    const { agent } = scriptedAgent([slow], { clock, config: { progress: { firstAfterSeconds } } });
    const reading = collect(agent.runStream('Go'));
    await clock.advance(42_000);
    const waiting = (await reading).flatMap((event) => (event.type === 'waiting' ? [event.data.seconds] : []));
    expect(waiting).toEqual(expected);
  }
});
