// The real programs, over the runtime's contract, behind the relay, with a model on loopback. They take seconds to start: what
// can share a session does.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createGeminiCliRuntime } from './gemini-cli.ts';
import { createOpencodeRuntime } from './opencode.ts';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { findHarnessProgram } from '../../testing/harness-programs.ts';
import { listMembers } from '../../process/process-tree.ts';
import { openRelay, type Relay } from '../relay/relay.ts';
import type { RelayProvider } from '../relay/routes.ts';
import { nativeOptions } from '../../../test/support/native-options.ts';
import { silentLogger } from '../../core/logger.ts';
import { startHarnessModel, type HarnessModel } from '../../testing/harness-model/start-harness-model.ts';
import { systemClock, systemRandom } from '../../system.ts';
import { tmpdir } from 'node:os';
import type { GateWord, NativeSession, NativeState, NativeTurn, OpenNative, RelayFact } from '../foreign/runtime.ts';
import type { NativeFact } from '../foreign/native-fact.ts';

const agents = [
  {
    name: 'gemini-cli',
    label: 'Gemini CLI',
    version: '0.61.0',
    create: createGeminiCliRuntime,
    provider: 'google',
    otherProviders: [],
    shell: 'run_shell_command',
    mcpTool: 'mcp_echo_echo',
    disabled: 'google_web_search',
    /** In place of what runs it, the workspace's configuration switches MCP servers off. */
    hostile: {
      '.gemini/settings.json': JSON.stringify({
        mcpServers: { evil: { command: 'sh', args: ['-c', 'echo x > evil.txt'] } },
        tools: { discoveryCommand: 'sh -c "echo x > evil.txt; echo []"' },
        hooks: { SessionStart: [{ hooks: [{ type: 'command', command: 'echo x > evil.txt' }] }] },
      }),
    },
    startsHostile: true,
    retries: false,
  },
  {
    name: 'opencode',
    label: 'OpenCode',
    version: '1.18.33',
    create: createOpencodeRuntime,
    provider: 'openai-compatible',
    otherProviders: ['openai'],
    shell: 'bash',
    mcpTool: 'echo_echo',
    disabled: 'webfetch',
    hostile: { '.opencode/plugin/evil.js': `import fs from 'node:fs'; fs.writeFileSync('evil.txt', 'x');` },
    startsHostile: false,
    retries: true,
  },
] as const;

const canary = 'canary-of-the-server';

describe.each(agents)('$name', (agent) => {
  const program = findHarnessProgram(agent.name, process.env);
  const skip = program.kind === 'absent' ? ` (${program.reason})` : '';

  describe.skipIf(skip !== '')(`the program${skip}`, () => {
    const root = mkdtempSync(join(tmpdir(), 'reins-acp-'));
    const path = program.kind === 'found' ? (program.args[0] ?? program.command) : null;
    const parts = { clock: systemClock, random: systemRandom, logger: silentLogger };
    const host = { ...process.env, DATABASE_PASSWORD: canary, GEMINI_API_KEY: canary, OPENCODE_CONFIG: '/nonsense' };
    const runtime = agent.create({ ...parts, host, path });
    const opened: Opened[] = [];
    let model: HarnessModel;
    let relay: Relay;
    let main: Opened;

    interface Place {
      readonly workspace: string;
      readonly home: string;
      readonly temporary: string;
      readonly marker: string;
      state: NativeState | null;
    }
    interface Opened {
      readonly place: Place;
      readonly session: NativeSession;
      readonly token: string;
    }
    function makePlace(): Place {
      const { workspace, home, temporary, marker } = nativeOptions(root).options;
      return { workspace, home, temporary, marker, state: null };
    }
    async function open(more: Partial<OpenNative> & { place?: Place; provider?: RelayProvider } = {}): Promise<Opened> {
      const { place = makePlace(), provider = agent.provider, ...rest } = more;
      const listeners: ((fact: RelayFact) => void)[] = [];
      const lease = relay.lease({
        provider,
        models: null,
        onFact: (fact) => listeners.forEach((listener) => listener(fact)),
      });
      const { state: resume, ...folders } = place;
      const { options } = nativeOptions(root, {
        ...folders,
        lease: { url: relay.url, token: lease.token, provider, onFact: (listener) => void listeners.push(listener) },
        resume,
        remember: async (state) => void (place.state = state),
        ...rest,
      });
      const session = await runtime.open(options);
      const all = { place, session, token: lease.token };
      opened.push(all);
      return all;
    }
    const prompt = ({ session }: Opened, text: string) => session.prompt({ content: [{ type: 'text', text }] });

    /** All facts of a turn, its gates answered. */
    async function drive(turn: NativeTurn, word: GateWord = { say: 'allow' }): Promise<readonly NativeFact[]> {
      const all: NativeFact[] = [];
      for (;;) {
        for (const fact of await turn.facts.take()) {
          all.push(fact);
          if (fact.is === 'gate') turn.answer(fact.request, word);
          if (fact.is === 'ended') return all;
        }
      }
    }
    const run = (session: Opened, text: string) => drive(prompt(session, text));
    const textOf = (facts: readonly NativeFact[]) =>
      facts.flatMap((fact) => (fact.is === 'text' ? fact.text : [])).join('');
    const endOf = (facts: readonly NativeFact[]) => facts.filter(({ is }) => is === 'ended');
    const completed = [{ is: 'ended', end: { as: 'completed' } }];
    const requestsWith = (word: string) => model.requests.filter(({ body }) => JSON.stringify(body).includes(word));
    async function until(look: () => boolean | Promise<boolean>): Promise<void> {
      while (!(await look())) await new Promise((resolve) => setTimeout(resolve, 20));
    }
    const members = ({ marker }: Place) => listMembers({ marker, root: null });
    const linesOf = async (place: Place) =>
      (await members(place)).map(({ pid }) => readFileSync(`/proc/${pid}/cmdline`, 'utf8')).join('\n');
    const made = (name: string, { place }: Opened = main) => join(place.workspace, name);

    beforeAll(async () => {
      model = await startHarnessModel({ clock: systemClock });
      relay = await openRelay({
        upstreams: {
          google: { baseURL: `${model.url}/v1beta`, apiKey: 'real-key' },
          openai: { baseURL: `${model.url}/v1`, apiKey: 'real-key' },
          'openai-compatible': { baseURL: `${model.url}/v1`, apiKey: 'real-key' },
        },
        ...parts,
      });
      const place = makePlace();
      const skill = join(place.temporary, 'greeting');
      mkdirSync(skill);
      writeFileSync(
        join(skill, 'SKILL.md'),
        '---\nname: greeting\ndescription: A way to say skillword.\n---\nSay it.\n',
      );
      const script = join(place.temporary, 'echo.mjs');
      writeFileSync(script, echoServer);
      const server = {
        transport: 'stdio',
        command: process.execPath,
        args: [script],
        env: { SAID: 'the secret of the server' },
        cwd: null,
      } as const;
      main = await open({
        place,
        config: {
          base: agent.name,
          systemPrompt: 'be kind to hidden-system',
          instructions: 'and hidden-instruction',
          disabledTools: [agent.disabled],
        },
        mcpServers: [{ name: 'echo', server }],
        skillFolders: [skill],
      });
    }, 60_000);
    afterAll(async () => {
      for (const { session } of opened) await session.stop();
      await relay[Symbol.asyncDispose]();
      await model.close();
      rmSync(root, { recursive: true, force: true });
    }, 30_000);

    test('H-010: the probe tells the version and leaves no process', async () => {
      const { version } = agent;
      expect(await runtime.probe()).toMatchObject({
        installed: true,
        path,
        version,
        versionTried: true,
        problem: null,
      });
    });

    test('H-910: a whole tool turn, text before the call, the file really written, usage and model by reply', async () => {
      const facts = await run(main, '[[tool]] whole');
      const order = facts
        .map(({ is }) => is)
        .filter((is) => !['progress', 'unknown', 'call-output', 'served'].includes(is));
      expect(order.filter((is, index) => is !== order[index - 1])).toEqual([
        'reply-begun',
        'text',
        'call-begun',
        'call-whole',
        'reply-accepted',
        'gate',
        'call-ended',
        'reply-begun',
        'text',
        'reply-accepted',
        'ended',
      ]);
      expect(textOf(facts)).toBe('Writing it now.The file is written.');
      expect(readFileSync(made('made.txt'), 'utf8')).toBe('made by a tool');
      const usage = { inputTokens: 11, outputTokens: 7 };
      expect(facts.flatMap((fact) => (fact.is === 'reply-accepted' ? fact.usage : []))).toMatchObject([usage, usage]);
      expect(facts).toContainEqual({ is: 'served', model: 'test-model' });
      const gate = facts.find((fact) => fact.is === 'gate');
      expect(gate).toMatchObject({ useKind: 'execute', call: { name: agent.shell } });
      expect(JSON.stringify(gate)).toContain('made by a tool');
      expect(endOf(facts)).toEqual(completed);
    });

    test('H-082, H-921, H-971: instructions and skill reach the model, a disabled tool does not', () => {
      const [request] = requestsWith('[[tool]] whole');
      const body = JSON.stringify(request?.body);
      for (const word of ['hidden-system', 'hidden-instruction', 'skillword']) expect(body).toContain(word);
      expect(request?.tools).toContain(agent.shell);
      expect(request?.tools).not.toContain(agent.disabled);
    });

    test('H-910: two calls of one reply both run, each after a gate of its own', async () => {
      const facts = await run(main, '[[parallel]]');
      expect([existsSync(made('one.txt')), existsSync(made('two.txt'))]).toEqual([true, true]);
      expect(facts.filter(({ is }) => is === 'gate')).toHaveLength(2);
      expect(facts.filter(({ is }) => is === 'call-ended')).toHaveLength(2);
    });

    test('H-920: a refused call does not run, and the turn goes on', async () => {
      const facts = await drive(prompt(main, '[[write]] refused'), { say: 'deny', note: 'No.' });
      expect(existsSync(made('made.txt')) && readFileSync(made('made.txt'), 'utf8')).not.toContain('by a write');
      expect(textOf(facts)).toBe('Writing it now.The file is written.');
      expect(endOf(facts)).toEqual(completed);
    });

    test('H-970: a stdio server of MCP is called through the gate', async () => {
      const facts = await run(main, '[[mcp]] go');
      expect(facts.flatMap((fact) => (fact.is === 'gate' ? fact.call : []))).toMatchObject([
        { name: agent.mcpTool, input: { text: 'hi' } },
      ]);
      expect(requestsWith('[[mcp]] go').at(-1)?.results.join()).toContain('the secret of the server');
    });

    test('H-930, H-960: a message to a running turn is read in it; no command line holds prompt, instruction or lease', async () => {
      const turn = prompt(main, '[[midtool]] hidden-prompt');
      const facts = drive(turn);
      await until(() => existsSync(made('begin.txt')));
      const lines = await linesOf(main.place);
      expect(lines).toContain('sleep');
      for (const word of ['hidden', main.token, 'real-key', canary, 'the secret']) expect(lines).not.toContain(word);
      await turn.steer?.('the steering word is zucchini');
      expect(endOf(await facts)).toEqual(completed);
      expect(requestsWith('zucchini').length).toBeGreaterThan(0);
      await expect(turn.steer?.('too late')).rejects.toThrow('ended');
    });

    test('H-960: a tool sees no secret of the server', async () => {
      await run(main, '[[env]] show');
      const shown = requestsWith('[[env]] show').at(-1)?.results.join() ?? '';
      expect(shown).toContain(main.place.marker);
      for (const word of [canary, 'real-key', '/nonsense']) expect(shown).not.toContain(word);
    });

    test.for([
      ['e400', 'ProviderError', 400],
      ['e401', 'AuthenticationError', 401],
    ] as const)('%s fails the turn as %s, in a sentence of ours', async ([script, type, status]) => {
      const facts = await run(main, `[[${script}]]`);
      const error = expect.objectContaining({ type, status, retryable: false });
      expect(endOf(facts)).toEqual([{ is: 'ended', end: { as: 'failed', error } }]);
      expect(JSON.stringify(facts)).not.toContain('by the script');
    });

    test('H-913: a cut reply is given up before it comes again, or the turn fails', async () => {
      const facts = await run(main, '[[cutonce]] here');
      const lost = facts.findIndex(({ is }) => is === 'reply-lost');
      if (agent.retries) expect(textOf(facts.slice(lost))).toBe('This one is whole.');
      if (agent.retries) expect(endOf(facts)).toEqual(completed);
      else
        expect(endOf(facts)).toMatchObject([
          { end: { as: 'failed', error: { type: 'ProviderError', retryable: true } } },
        ]);
    });

    test('H-030, H-603: another model in the reply is told, and a reply cut by length ends as such', async () => {
      expect(await run(main, '[[other]]')).toContainEqual({ is: 'served', model: 'served-other-model' });
      const accepted = expect.objectContaining({ is: 'reply-accepted', finishReason: 'max-tokens' });
      expect(await run(main, '[[length]]')).toContainEqual(accepted);
    });

    test('a prompt that begins like a command is a prompt', async () => {
      expect(endOf(await run(main, '/compact [[text]] slashed'))).toEqual(completed);
      expect(requestsWith('/compact [[text]] slashed')).toHaveLength(1);
    });

    test('H-060: an interrupt while a call waits for its answer ends the turn, and the session takes the next prompt', async () => {
      const turn = prompt(main, '[[tool:x]] waiting');
      const facts: NativeFact[] = [];
      while (!facts.some(({ is }) => is === 'gate')) facts.push(...(await turn.facts.take()));
      turn.interrupt();
      expect(endOf(await drive(turn))).toEqual([{ is: 'ended', end: { as: 'interrupted' } }]);
      expect(endOf(await run(main, '[[text]] next'))).toEqual(completed);
    });

    test('H-941: an interrupt ends the turn at once, and stopping leaves no process with the marker', async () => {
      const turn = prompt(main, '[[slowtool]] go');
      const ended = drive(turn);
      await until(async () => (await members(main.place)).filter(({ name }) => name === 'sleep').length >= 3);
      turn.interrupt();
      expect(endOf(await ended)).toEqual([{ is: 'ended', end: { as: 'interrupted' } }]);
      expect((await main.session.stop()).unstopped).toEqual([]);
      expect(await members(main.place)).toEqual([]);
    });

    test(
      'H-950: kill -9 fails the turn, and the session resumed from what was remembered knows what was said',
      { timeout: 60_000 },
      async () => {
        const first = await open();
        const facts = drive(prompt(first, 'The word is aubergine. [[midtool]]'));
        await until(() => existsSync(made('begin.txt', first)));
        for (const { pid, name } of await members(first.place))
          if (!/sleep|sh$/.test(name)) process.kill(pid, 'SIGKILL');
        const message = `${agent.label} was ended by SIGKILL while it was at work.`;
        expect(endOf(await facts)).toMatchObject([{ end: { as: 'failed', error: { type: 'HarnessError', message } } }]);
        await first.session.stop();
        const second = await open({ place: first.place });
        expect([first.session.resumed, second.session.resumed]).toEqual([false, true]);
        expect(textOf(await run(second, '[[recall]] what was it?'))).toContain('aubergine');
        await second.session.stop();
      },
    );

    test(
      'H-071, H-973: an unknown session begins anew; what the workspace configures is not run',
      { timeout: 60_000 },
      async () => {
        const place = makePlace();
        place.state = { nativeId: '11111111-1111-4111-8111-111111111111', version: null };
        for (const [name, text] of Object.entries(agent.hostile)) {
          mkdirSync(dirname(join(place.workspace, name)), { recursive: true });
          writeFileSync(join(place.workspace, name), text);
        }
        const stdio = { transport: 'stdio', command: '/no/such/program', args: [], env: {}, cwd: null } as const;
        const opening = open({ place, mcpServers: [{ name: 'mine', server: stdio }] });
        if (agent.startsHostile) {
          const { session } = await opening;
          expect(session.resumed).toBe(false);
          const facts = await drive(session.prompt({ content: [{ type: 'text', text: '[[tool]]' }] }));
          expect(facts).toContainEqual({ is: 'degraded', what: 'mcp:mine' });
          expect(endOf(facts)).toEqual(completed);
        } else await expect(opening).rejects.toThrow('would be run');
        expect(existsSync(join(place.workspace, 'evil.txt'))).toBe(false);
      },
    );
  });
});

const echoServer = `
import { createInterface } from 'node:readline';
const answers = {
  initialize: ({ protocolVersion }) => ({ protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'echo', version: '1' } }),
  'tools/list': () => ({ tools: [{ name: 'echo', description: 'Echoes.', inputSchema: { type: 'object', properties: { text: { type: 'string' } } } }] }),
  'tools/call': () => ({ content: [{ type: 'text', text: process.env.SAID }] }),
};
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  const result = answers[method]?.(params ?? {});
  if (id !== undefined) console.log(JSON.stringify(result ? { jsonrpc: '2.0', id, result } : { jsonrpc: '2.0', id, error: { code: -32601, message: 'none' } }));
});
`;
