import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createClaudeCodeRuntime } from './claude-code-runtime.ts';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { findHarnessProgram } from '../../testing/harness-programs.ts';
import { join } from 'node:path';
import { listMembers } from '../../process/process-tree.ts';
import { nativeOptions } from '../../../test/support/native-options.ts';
import { silentLogger } from '../../core/logger.ts';
import { startHarnessModel, type HarnessModel } from '../../testing/harness-model/start-harness-model.ts';
import { stopTree } from '../../process/stop-tree.ts';
import { systemClock, systemRandom } from '../../system.ts';
import { tmpdir } from 'node:os';
import type { GateWord, NativeSession, NativeState, NativeTurn, OpenNative } from '../foreign/runtime.ts';
import type { NativeEnd, NativeFact } from '../foreign/native-fact.ts';
import type { RunConfig } from '../../core/run-config.ts';

const found = findHarnessProgram('claude-code', process.env);
const title = found.kind === 'found' ? 'claude-code' : `claude-code (skipped: ${found.reason})`;
const token = 'lease-token-that-nobody-may-see';
const canary = 'canary-of-the-server';

interface Rig {
  readonly options: OpenNative;
  readonly states: NativeState[];
  open(more?: Partial<OpenNative>): Promise<NativeSession>;
  processes(): Promise<readonly { readonly pid: number; readonly name: string }[]>;
}

describe.skipIf(found.kind === 'absent')(title, { timeout: 30_000 }, () => {
  let model: HarnessModel;
  const folders: string[] = [];
  const markers: string[] = [];
  const runtime = createClaudeCodeRuntime({
    clock: systemClock,
    random: systemRandom,
    logger: silentLogger,
    host: { ...process.env, CLAUDECODE: '1', CLAUDE_CODE_ENTRYPOINT: 'nonsense', DATABASE_PASSWORD: canary },
    path: found.kind === 'found' ? found.command : null,
  });

  beforeAll(async () => {
    model = await startHarnessModel({ clock: systemClock });
  });
  afterAll(async () => {
    for (const marker of markers) await stopTree({ marker, root: null }, { clock: systemClock, graceMs: 0 });
    await model.close();
    for (const folder of folders) rmSync(folder, { recursive: true, force: true });
  });

  function rig(config: Partial<RunConfig> = {}): Rig {
    const root = mkdtempSync(join(tmpdir(), 'reins-claude-'));
    folders.push(root);
    const { options, states } = nativeOptions(root, {
      lease: { url: model.url, token, provider: 'anthropic', onFact() {} },
      config: { base: 'claude-code', systemPrompt: null, instructions: null, disabledTools: [], ...config },
    });
    const { marker } = options;
    markers.push(marker);
    return {
      options,
      states,
      open: (more = {}) => runtime.open({ ...options, ...more }),
      processes: () => listMembers({ marker, root: null }),
    };
  }

  test('H-010: the probe tells the version, and that it was tried', async () => {
    expect(await runtime.probe()).toMatchObject({
      installed: true,
      version: '2.1.332',
      versionTried: true,
      problem: null,
    });
  });

  test('H-910: a turn with a tool: text first, the call gated, the file written, usage and end', async () => {
    const { options, states, open } = rig({ instructions: 'INSTRUCTION-MARK' });
    const session = await open();
    expect(states).toMatchObject([{ version: '2.1.332' }]);
    const { facts, end } = await play(session.prompt(says('[[tool]] Write it.')));
    expect(end).toEqual({ as: 'completed' });
    expect(readFileSync(join(options.workspace, 'made.txt'), 'utf8')).toBe('made by a tool');
    const kinds = facts.map(({ is }) => is).filter((is) => is !== 'progress');
    const [text, gate] = [kinds.indexOf('text'), kinds.indexOf('gate')];
    expect(text).toBeGreaterThan(-1);
    expect(text).toBeLessThan(gate);
    expect(kinds.filter((is) => is === 'reply-accepted')).toHaveLength(2);
    expect(kinds.filter((is) => is === 'unknown' || is === 'reply-lost')).toEqual([]);
    expect(facts.find(({ is }) => is === 'gate')).toMatchObject({ useKind: 'execute', call: { name: 'Bash' } });
    expect(facts.find(({ is }) => is === 'call-ended')).toMatchObject({ outcome: 'ok', content: 'wrote made.txt' });
    expect(facts.find(({ is }) => is === 'reply-accepted')).toMatchObject({
      usage: { inputTokens: 11, outputTokens: 7 },
    });
    expect(JSON.stringify(model.requests.at(-1)?.body)).toContain('INSTRUCTION-MARK');
    // The same process takes the next turn.
    expect(textIn((await play(session.prompt(says('[[text]] Again.')))).facts)).toBe('Hello from the model.');
    await session.stop();
  });

  test('H-920, H-043: a refused call does not run, its note reaches the model, and the turn goes on', async () => {
    const { options, open } = rig();
    const session = await open();
    const { end, facts } = await play(session.prompt(says('[[tool]] Write it.')), () => ({
      say: 'deny',
      note: 'Ask somebody else.',
    }));
    expect(end).toEqual({ as: 'completed' });
    expect(existsSync(join(options.workspace, 'made.txt'))).toBe(false);
    expect(facts.find(({ is }) => is === 'call-ended')).toMatchObject({ outcome: 'denied' });
    expect(model.requests.at(-1)?.results).toEqual(['Ask somebody else.']);
    await session.stop();
  });

  test('H-046: a question is answered in the words of its options', async () => {
    const { open } = rig();
    const session = await open();
    const answers = [{ id: '1', texts: ['Blue'] }];
    const { facts } = await play(session.prompt(says('[[ask]] Go.')), () => ({ say: 'answers', answers }));
    expect(facts.find(({ is }) => is === 'question')).toMatchObject({
      questions: [{ id: '1', question: 'Red or blue?', options: ['Red', 'Blue'] }],
    });
    expect(model.requests.at(-1)?.results.join()).toContain('"Red or blue?"="Blue"');
    const declined = await play(session.prompt(says('[[ask]] Go.')), () => ({ say: 'answers', answers: null }));
    expect(declined.end).toEqual({ as: 'completed' });
    expect(model.requests.at(-1)?.results).toEqual(['The user declined to answer.']);
    await session.stop();
  });

  test('H-941: an interrupt in a tool ends the turn, and after the stop no process is left', async () => {
    const { open, processes } = rig();
    const session = await open();
    const turn = session.prompt(says('[[slowtool]] Go.'));
    const over = play(turn);
    await until(async () => (await processes()).filter(({ name }) => name === 'sleep').length >= 3);
    turn.interrupt();
    expect((await over).end).toEqual({ as: 'interrupted' });
    expect((await session.stop()).unstopped).toEqual([]);
    expect(await processes()).toEqual([]);
    expect(await session.gone).toMatch(/^Claude Code (exited|was ended)/);
  });

  test('H-940: an interrupt in an open approval ends the turn, and the call has not run', async () => {
    const { options, open } = rig();
    const session = await open();
    const turn = session.prompt(says('[[tool]] Go.'));
    const over = play(turn, (request) => {
      turn.answer(request, { say: 'cancelled' });
      turn.interrupt();
      return null;
    });
    expect((await over).end).toEqual({ as: 'interrupted' });
    expect(existsSync(join(options.workspace, 'made.txt'))).toBe(false);
    await session.stop();
  });

  test('H-050: what is said in a tool is read at the next step; in the last text, in a turn that belongs to the same', async () => {
    const { options, open } = rig();
    const session = await open();
    const turn = session.prompt(says('[[midtool]] Go.'));
    const over = play(turn);
    await until(() => existsSync(join(options.workspace, 'begin.txt')));
    await turn.steer?.('STEER-IN-TOOL');
    expect((await over).end).toEqual({ as: 'completed' });
    expect(JSON.stringify(model.requests.at(-1)?.body)).toContain('STEER-IN-TOOL');
    const last = session.prompt(says('[[slowtext:20]] Go.'));
    const heard = Promise.withResolvers<void>();
    const lastOver = play(last, allow, (fact) => fact.is === 'text' && heard.resolve());
    await heard.promise;
    await last.steer?.('[[text]] STEER-IN-TEXT');
    const { facts, end } = await lastOver;
    expect(end).toEqual({ as: 'completed' });
    expect(textIn(facts)).toMatch(/word39 Hello from the model\.$/);
    await expect(last.steer?.('Too late.')).rejects.toThrow('The turn has ended.');
    await session.stop();
  });

  test('H-950: killed in a tool, the turn has failed; reopened, the session remembers and goes on', async () => {
    const { states, open, processes } = rig();
    const session = await open();
    const over = play(session.prompt(says('[[slowtool]] Remember the word PLUM.')));
    await until(async () => (await processes()).some(({ name }) => name === 'sleep'));
    const claude = (await processes()).find(({ name }) => name === 'claude');
    process.kill(claude?.pid ?? 0, 'SIGKILL');
    expect((await over).end).toMatchObject({
      as: 'failed',
      error: { type: 'HarnessError', message: 'Claude Code was ended by SIGKILL while it was at work.' },
    });
    await session.stop();
    expect(await processes()).toEqual([]);
    const again = await open({ resume: states[0] ?? null });
    expect(again.resumed).toBe(true);
    expect((await play(again.prompt(says('[[text]] Go on.')))).end).toEqual({ as: 'completed' });
    expect(JSON.stringify(model.requests.at(-1)?.body)).toContain('PLUM');
    await again.stop();
    const unknown = await open({ resume: { nativeId: '11111111-1111-4111-a111-111111111111', version: null } });
    expect(unknown.resumed).toBe(false);
    expect(states.at(-1)?.nativeId).not.toBe(states[0]?.nativeId);
    await unknown.stop();
  });

  test('H-921: a disabled tool is not offered', async () => {
    const { open } = rig({ disabledTools: ['Bash', 'WebFetch'] });
    const session = await open();
    await play(session.prompt(says('[[text]] Hello.')));
    const tools = model.requests.at(-1)?.tools ?? [];
    expect(tools).toContain('Read');
    for (const name of ['Bash', 'WebFetch', 'ScheduleWakeup', 'Monitor', 'CronCreate'])
      expect(tools).not.toContain(name);
    await session.stop();
  });

  test('H-970, H-971: an MCP server is called in its folder, a dead one is told, a skill is named', async () => {
    const { options, open } = rig();
    const skill = join(options.home, '..', 'greeting');
    mkdirSync(skill);
    writeFileSync(join(skill, 'SKILL.md'), '---\nname: greeting\ndescription: SKILL-MARK greets\n---\nGreet.\n');
    const server = join(options.home, '..', 'echo.mjs');
    writeFileSync(server, echoServer);
    const stdio = { transport: 'stdio', args: [], env: {}, cwd: null } as const;
    const session = await open({
      skillFolders: [skill],
      mcpServers: [
        { name: 'echo', server: { ...stdio, command: process.execPath, args: [server], cwd: options.workspace } },
        { name: 'dead', server: { ...stdio, command: '/no/such/program' } },
      ],
    });
    const { facts, end } = await play(session.prompt(says('[[mcp:echo]] Go.')));
    expect(end).toEqual({ as: 'completed' });
    expect(facts).toContainEqual({ is: 'degraded', what: 'mcp:dead' });
    expect(facts.find(({ is }) => is === 'gate')).toMatchObject({ call: { name: 'mcp__echo__echo' } });
    expect(model.requests.at(-1)?.results).toEqual([`hi from ${options.workspace}`]);
    expect(JSON.stringify(model.requests.at(-1)?.body)).toContain('SKILL-MARK');
    await session.stop();
  });

  test('H-960, H-973: tools see no secret of the server, arguments hold neither prompt nor token, and a workspace brings no code', async () => {
    const { options, open, processes } = rig();
    mkdirSync(join(options.workspace, '.claude'));
    const hooks = { SessionStart: [{ hooks: [{ type: 'command', command: 'touch evil.txt' }] }] };
    writeFileSync(join(options.workspace, '.claude/settings.json'), JSON.stringify({ hooks }));
    writeFileSync(
      join(options.workspace, '.mcp.json'),
      '{"mcpServers":{"evil":{"command":"touch","args":["evil.txt"]}}}',
    );
    writeFileSync(join(options.workspace, 'CLAUDE.md'), 'WORKSPACE-WORDS');
    const session = await open();
    let lines = '';
    const { end } = await play(session.prompt(says('[[env]] PROMPT-MARK')), allow, async (fact) => {
      if (fact.is !== 'gate') return;
      const pids = (await processes()).map(({ pid }) => pid);
      lines = pids.map((pid) => readFileSync(`/proc/${pid}/cmdline`, 'utf8')).join('\n');
    });
    expect(end).toEqual({ as: 'completed' });
    expect(lines).toContain('stream-json');
    expect(lines).not.toMatch(new RegExp(`PROMPT-MARK|${token}`));
    const seen = model.requests.at(-1)?.results.join() ?? '';
    expect(seen).toContain(`REINS_TREE=${options.marker}`);
    expect(seen).not.toContain(canary);
    expect(seen).not.toContain('nonsense');
    expect(JSON.stringify(model.requests.at(-1)?.body)).not.toContain('WORKSPACE-WORDS');
    expect(existsSync(join(options.workspace, 'evil.txt'))).toBe(false);
    await session.stop();
  });

  test('H-913, H-300: a cut reply is told as lost; a refusal ends the turn as a failure, and the next one works', async () => {
    const { open } = rig();
    const session = await open();
    const cut = await play(session.prompt(says('[[cutonce]] Go.')));
    expect(cut.end).toEqual({ as: 'completed' });
    expect(cut.facts.filter(({ is }) => is === 'reply-lost')).toMatchObject([{ reason: 'incomplete' }]);
    const refused = await play(session.prompt(says('[[e400]] Go.')));
    expect(refused.end).toMatchObject({
      as: 'failed',
      error: { type: 'ProviderError', status: 400, retryable: false },
    });
    expect(refused.facts.some(({ is }) => is === 'text')).toBe(false);
    expect((await play(session.prompt(says('[[other]] Go.')))).facts).toContainEqual({
      is: 'served',
      model: 'served-other-model',
    });
    await session.stop();
  });

  test('H-136: a program that cannot be one is told apart before anything starts', async () => {
    const none = createClaudeCodeRuntime({
      clock: systemClock,
      random: systemRandom,
      logger: silentLogger,
      host: { PATH: '/nonexistent' },
      path: null,
    });
    expect(await none.probe()).toMatchObject({ installed: false, problem: { code: 'not-installed' } });
    await expect(none.open(rig().options)).rejects.toMatchObject({ error: { type: 'AgentUnavailableError' } });
  });
});

/** An MCP server on its standard streams with one tool, which tells where it runs. */
const echoServer = `
import { createInterface } from 'node:readline';
const tool = { name: 'echo', description: 'Echo', inputSchema: { type: 'object', properties: { text: { type: 'string' } } } };
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  const result = {
    initialize: { protocolVersion: params?.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'echo', version: '1' } },
    'tools/list': { tools: [tool] },
    'tools/call': { content: [{ type: 'text', text: params?.arguments?.text + ' from ' + process.cwd() }] },
  }[method];
  if (id !== undefined) console.log(JSON.stringify({ jsonrpc: '2.0', id, result: result ?? {} }));
});
`;

type Answer = (request: string) => GateWord | null;
const allow: Answer = () => ({ say: 'allow' });

/** A turn to its end; every gate and question gets this answer. */
async function play(
  turn: NativeTurn,
  answer: Answer = allow,
  look: (fact: NativeFact) => unknown = () => undefined,
): Promise<{ readonly facts: readonly NativeFact[]; readonly end: NativeEnd | null }> {
  const facts: NativeFact[] = [];
  for (let batch = await turn.facts.take(); batch.length > 0; batch = await turn.facts.take())
    for (const fact of batch) {
      facts.push(fact);
      await look(fact);
      const word = fact.is === 'gate' || fact.is === 'question' ? answer(fact.request) : null;
      if (word !== null && (fact.is === 'gate' || fact.is === 'question')) turn.answer(fact.request, word);
    }
  expect(facts.filter(({ is }) => is === 'ended')).toHaveLength(1);
  const last = facts.at(-1);
  return { facts, end: last?.is === 'ended' ? last.end : null };
}

const says = (text: string) => ({ content: [{ type: 'text', text } as const] });
const textIn = (facts: readonly NativeFact[]) => facts.map((fact) => (fact.is === 'text' ? fact.text : '')).join('');

async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  await expect.poll(condition, { timeout: 15_000, interval: 30 }).toBe(true);
}
