// What every harness keeps, whatever is behind it, over the protocol alone: a server with the harness, and a model on loopback
// that does what a marker in the task says (`harness-model/scripts.ts`). For the authors of adapters (H-901).

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Capabilities } from '../harnesses/harness.ts';
import { sleep, type Clock } from '../core/clock.ts';
import type { Client } from '../client/index.ts';
import type { HarnessModel } from './harness-model/start-harness-model.ts';
import type { UhpResponse } from '../protocol/uhp/response.ts';

export interface HarnessUnderTest extends AsyncDisposable {
  /** The harness's id on the server as it is now. */
  readonly harnessId: string;
  /** As the server tells them. */
  readonly capabilities: Readonly<Partial<Record<keyof Capabilities, string | readonly string[]>>>;
  /** Of the system: what is waited for here are real processes. */
  readonly clock: Clock;
  client(): Client;
  readonly model: HarnessModel;
  /** The name of a model that the harness is given. */
  readonly modelName: string;
  /** Kills the server as a power cut would, and starts it again on the same data. */
  restart(): Promise<void>;
  /** Names of the processes that work for this session, found by what they carry. */
  processes(sessionId: string): Promise<readonly { readonly pid: number; readonly name: string }[]>;
  /** Values that no tool may ever see. */
  readonly canaries: readonly string[];
  /** An MCP server of the settings has a tool of this name, which gives a number. */
  readonly mcpTool: string;
  /** A template for working directories: configuration that would do harm. */
  readonly hostileTemplate: string;
  /** What configuration that lies in the working directory has been able to do, in words: it was code of unknown origin (H-084). */
  owned(): readonly string[];
  /** Command lines of these processes, joined. */
  commandLines(sessionId: string): Promise<string>;
}

export interface HarnessContractOptions {
  readonly open: () => Promise<HarnessUnderTest>;
  /** Why it cannot be tried here; the tests are skipped and say so (H-981). */
  readonly skip?: string | undefined;
  /** Laws that this harness is known not to keep, each with the reason; they are asserted to fail (H-901). */
  readonly differences?: Readonly<Partial<Record<Law, string>>>;
}

export type Law =
  | 'tool-turn'
  | 'artifact'
  | 'follow-up'
  | 'approve'
  | 'deny'
  | 'cancel-in-tool'
  | 'cancel-in-text'
  | 'killed-runtime'
  | 'killed-server'
  | 'ten-sessions'
  | 'environment'
  | 'home'
  | 'command-line'
  | 'disabled-tool'
  | 'usage'
  | 'steer'
  | 'retry-text'
  | 'failures-end'
  | 'parked-restart'
  | 'question'
  | 'thinking'
  | 'unicode'
  | 'parallel'
  | 'other-model'
  | 'mcp'
  | 'skill'
  | 'hostile-workspace'
  | 'workspace-config'
  | 'big-output';

const turnMs = 60_000;

export function describeHarnessContract(name: string, { open, skip, differences = {} }: HarnessContractOptions): void {
  describe.skipIf(skip !== undefined)(`harness contract: ${name}${skip === undefined ? '' : ` (${skip})`}`, () => {
    let under: HarnessUnderTest;
    beforeAll(async () => {
      under = await open();
    }, 120_000);
    afterAll(async () => under[Symbol.asyncDispose](), 60_000);

    const law = (id: Law, title: string, prove: () => Promise<void>) => {
      const known = differences[id];
      if (known === undefined) test(`${id}: ${title}`, { timeout: turnMs }, prove);
      else test.fails(`${id}: ${title} – known difference: ${known}`, { timeout: turnMs }, prove);
    };
    const ask = (input: string, more: object = {}) => ({
      input,
      model: under.modelName,
      metadata: { harness_id: under.harnessId },
      ...more,
    });
    const run = async (input: string, more: object = {}) => (await under.client().collect(ask(input, more))).response;
    const sessionOf = ({ metadata: { session_id: id } }: UhpResponse) => (typeof id === 'string' ? id : '');
    const until = async <T>(look: () => Promise<T | null | undefined | false>): Promise<T> => {
      for (;;) {
        const found = await look();
        if (found !== null && found !== undefined && found !== false) return found;
        await sleep(under.clock, 50);
      }
    };
    const textOf = ({ output }: UhpResponse) =>
      output.flatMap((item) => (item.type === 'message' ? item.content.map(({ text }) => text) : [])).join('\n');

    law(
      'tool-turn',
      'text streams before the call, the call is shown with its result, the answer follows',
      async () => {
        const types: string[] = [];
        const task = under.client().run(ask('[[tool]] please'));
        for await (const event of task) types.push(event.type);
        const { response, status } = await task.result();
        expect([status, response.error]).toEqual(['completed', null]);
        expect(textOf(response)).toContain('The file is written.');
        const delta = types.indexOf('response.output_text.delta');
        const call = types.findIndex((type) => type === 'response.function_call_arguments.done');
        expect([delta >= 0, call > delta]).toEqual([true, true]);
        expect(response.output.some((item) => item.type === 'function_call')).toBe(true);
      },
    );

    law('artifact', 'what a tool made is listed and comes back byte for byte', async () => {
      const response = await run('[[tool]] again');
      const files = await under.client().sessions.files(sessionOf(response));
      const made = files.find(({ filename }) => filename === 'made.txt');
      const content = await under.client().files.content(made?.container_id ?? '', made?.id ?? '');
      expect(await content.text()).toBe('made by a tool');
    });

    law('usage', 'tokens are those that the model told, summed over the replies, or null', async () => {
      const { usage } = await run('[[tool]] counted');
      if (under.capabilities.usage === 'none') return expect(usage).toBeNull();
      expect(usage).toMatchObject({ input_tokens: 22, output_tokens: 14 });
    });

    law('follow-up', 'a follow-up in the same session remembers what was said', async () => {
      const first = await run('The word is aubergine. [[text]]');
      const second = await run('[[recall]] what was it?', { previous_response_id: first.id });
      expect(textOf(second)).toContain('aubergine');
    });

    law('approve', 'B081: a call waits for a person, runs once it is approved, and not before', async () => {
      const harness = await guarded();
      const task = under.client().run(ask('[[tool]] asked', { metadata: { harness_id: harness } }));
      const id = await task.responseId;
      const approval = await until(() => openApproval(id));
      expect(await filesOf(id)).toEqual([]);
      await under.client().approvals.decide(approval.id, { decision: 'approve' });
      const { response } = await settle(id);
      expect(response.status).toBe('completed');
      expect(await filesOf(id)).toContain('made.txt');
    });

    law('deny', 'B081: a refused call does not run; the task goes on or ends, and says so', async () => {
      const harness = await guarded();
      const task = under.client().run(ask('[[tool]] refused', { metadata: { harness_id: harness } }));
      const id = await task.responseId;
      const approval = await until(() => openApproval(id));
      await under.client().approvals.decide(approval.id, { decision: 'deny', note: 'Not today.' });
      const { response } = await settle(id);
      expect(response.status).toBe('completed');
      expect(await filesOf(id)).toEqual([]);
    });

    law(
      'cancel-in-tool',
      'B099, B139: no process of a cancelled task is left after ten seconds, wherever it went',
      async () => {
        const task = under.client().run(ask('[[slowtool]] go'));
        const id = await task.responseId;
        const session = sessionOf(await under.client().responses.get(id));
        await until(async () => (await under.processes(session)).filter((each) => each.name === 'sleep').length >= 2);
        await task.cancel();
        const { response } = await settle(id);
        expect(response.status).toBe('cancelled');
        expect(await under.processes(session)).toEqual([]);
      },
    );

    law(
      'cancel-in-text',
      'B094, B097: the call to the model ends within a second of a cancel, and no other follows',
      async () => {
        const task = under.client().run(ask('[[slowtext:200]] cancelled'));
        const id = await task.responseId;
        for await (const event of task) if (event.type === 'response.output_text.delta') break;
        await task.cancel();
        const { response } = await settle(id);
        expect(response.status).toBe('cancelled');
        const mine = under.model.requests.filter(({ body }) =>
          JSON.stringify(body).includes('[[slowtext:200]] cancelled'),
        );
        expect(mine.every(({ endedAt }) => endedAt !== null)).toBe(true);
        const asked = mine.length;
        await sleep(under.clock, 1_500);
        expect(
          under.model.requests.filter(({ body }) => JSON.stringify(body).includes('[[slowtext:200]] cancelled')),
        ).toHaveLength(asked);
      },
    );

    law(
      'killed-runtime',
      'B111: kill -9 of the runtime fails the task; the next one of the session works and remembers',
      async () => {
        if (name === 'native') return; // it is no process of its own
        const task = under.client().run(ask('The word is courgette. [[midtool]]'));
        const id = await task.responseId;
        const session = sessionOf(await under.client().responses.get(id));
        await until(async () => (await under.processes(session)).some((each) => each.name === 'sleep'));
        for (const { pid, name: each } of await under.processes(session))
          if (!/^(sleep|sh|bash)$/.test(each)) kill(pid);
        const { response } = await settle(id);
        expect([response.status, typeof response.error?.message]).toEqual(['failed', 'string']);
        const next = await run('[[recall]] and now?', { previous_response_id: id });
        expect(textOf(next)).toContain('courgette');
      },
    );

    law(
      'killed-server',
      'B139: kill -9 of the server in mid-turn: the task goes on after its restart, and nothing is left over',
      async () => {
        const task = under.client().run(ask('The word is pumpkin. [[midtool]] over the restart', { background: true }));
        const id = await task.responseId;
        const session = sessionOf(await under.client().responses.get(id));
        const before = await until(async () => {
          const there = await under.processes(session);
          return there.length > 0 && there;
        });
        await under.restart();
        const isOld = ({ pid }: { readonly pid: number }) => before.some((each) => each.pid === pid);
        await until(async () => !(await under.processes(session)).some(isOld));
        const { response } = await settle(id);
        expect(response.status).toBe('completed');
        const next = await run('[[recall]] after that', { previous_response_id: id });
        expect(textOf(next)).toContain('pumpkin');
      },
    );

    law('ten-sessions', 'ten sessions at once each do their own task', async () => {
      const words = Array.from({ length: 10 }, (_, index) => `[[write]] number ${index}`);
      const all = await Promise.all(words.map((word) => run(word)));
      expect(all.map(({ status }) => status)).toEqual(words.map(() => 'completed'));
      expect(new Set(all.map(sessionOf)).size).toBe(10);
    });

    law('environment', 'B143: a tool that prints its environment prints no secret of the server', async () => {
      const response = await run('[[env]] show');
      const shown = JSON.stringify(response.output);
      expect(under.canaries.filter((canary) => shown.includes(canary))).toEqual([]);
      // It was really run.
      expect(under.model.requests.some(({ results }) => results.some((result) => result.includes('PATH=')))).toBe(true);
      const read = under.model.requests.flatMap(({ results }) => results).join('\n');
      expect(under.canaries.filter((canary) => read.includes(canary))).toEqual([]);
    });

    law(
      'home',
      'a tool that reads all of its home, and what lies beside it, reads no secret of the server',
      async () => {
        await run('[[home]] all of it');
        const read = resultsOf('[[home]] all of it').join('\n');
        expect(read).toContain('END');
        expect(under.canaries.filter((canary) => read.includes(canary))).toEqual([]);
      },
    );

    law('command-line', 'no prompt and no secret stands on a command line', async () => {
      const task = under.client().run(ask('[[midtool]] with a hidden-word'));
      const id = await task.responseId;
      const session = sessionOf(await under.client().responses.get(id));
      await until(async () => (await under.processes(session)).length > 0);
      const lines = await under.commandLines(session);
      expect(lines).not.toContain('hidden-word');
      expect(under.canaries.filter((canary) => lines.includes(canary))).toEqual([]);
      await settle(id);
    });

    law('disabled-tool', 'a tool that is switched off is not offered to the model', async () => {
      if (under.capabilities.disabledTools !== 'block') return;
      await run('[[text]] which tools?');
      const offered = toolsOffered('which tools?');
      const shell = offered.find((tool) => /^(bash|exec_command|shell|run_shell_command)$/i.test(tool)) ?? '';
      expect(shell).not.toBe('');
      const { harness: made } = await make({ disabled_tools: [shell] });
      await run('[[text]] and which now?', { metadata: { harness_id: made } });
      expect(toolsOffered('and which now?')).not.toContain(shell);
    });

    law('steer', 'a message to a task at work is read before it ends', async () => {
      if (under.capabilities.steer === 'none') return;
      const task = under.client().run(ask('[[midtool]] steered'));
      const id = await task.responseId;
      for await (const event of task) if (event.type === 'response.function_call_arguments.done') break;
      await under.client().steer(id, 'the steering word is zucchini');
      await settle(id);
      expect(JSON.stringify(under.model.requests.map(({ body }) => body))).toContain('zucchini');
    });

    law('retry-text', 'a reply that is cut and asked for again is shown once', async () => {
      const response = await run('[[cutonce:contract]] once');
      expect(response.status).toBe('completed');
      const whole = response.output.filter((item) => item.type === 'message' && item.status === 'completed');
      expect(
        whole.flatMap((item) => (item.type === 'message' ? item.content.map(({ text }) => text) : [])).join(''),
      ).toBe('This one is whole.');
    });

    law('failures-end', 'a model that refuses or talks nonsense ends the task once, with a sentence', async () => {
      for (const script of ['e400', 'html']) {
        const response = await run(`[[${script}]] go`);
        expect([script, response.status]).toEqual([script, 'failed']);
        expect(response.error?.message).toMatch(/\w+/);
      }
    });

    law(
      'parked-restart',
      'B083: a call that waits when the server is killed is listed after it, and runs once when it is approved',
      async () => {
        const harness = await guarded();
        const id = await under.client().run(ask('[[tool]] parked', { metadata: { harness_id: harness } })).responseId;
        const approval = await until(() => openApproval(id));
        await under.restart();
        expect((await until(() => openApproval(id))).id).toBe(approval.id);
        await under.client().approvals.decide(approval.id, { decision: 'approve' });
        // A runtime that lost its place asks anew for what is not the very same call.
        const decided = new Set([approval.id]);
        const { response } = await until(async () => {
          const now = await under.client().responses.get(id);
          if (now.status !== 'in_progress') return settle(id);
          const again = await openApproval(id);
          if (again !== undefined && !decided.has(again.id)) {
            decided.add(again.id);
            await under.client().approvals.decide(again.id, { decision: 'approve' });
          }
          return null;
        });
        expect([response.status, decided.size]).toEqual(['completed', 1]);
        expect(await filesOf(id), JSON.stringify(response.output)).toContain('made.txt');
      },
    );

    law('question', 'a question reaches the person, and the answer the model', async () => {
      if (under.capabilities.questions !== 'yes') return;
      const { harness } = await make({ reins_questions: true });
      const id = await under.client().run(ask('[[ask]] me', { metadata: { harness_id: harness } })).responseId;
      const approval = await until(() => openApproval(id));
      expect(approval.kind).toBe('question');
      const [question] = approval.questions ?? [];
      await under.client().approvals.answer(approval.id, { answers: [{ id: question?.id ?? '', selected: ['Blue'] }] });
      expect((await settle(id)).response.status).toBe('completed');
      expect(resultsOf('[[ask]] me').join('\n')).toContain('Blue');
    });

    law('thinking', 'what the model thinks is no part of its answer', async () => {
      const response = await run('[[think]] first');
      expect(textOf(response)).toBe('I thought.');
      if (under.capabilities.thinking !== 'none')
        expect(JSON.stringify(response.output)).toContain('Let me think about it.');
    });

    law('unicode', 'text comes through byte for byte, line separators and families included', async () => {
      expect(textOf(await run('[[unicode]] please'))).toBe('Line\u2028separator, 👩‍👩‍👧 family, 漢字 and é.');
    });

    law('parallel', 'calls of one reply run once each', async () => {
      const response = await run('[[parallel]] go');
      expect(response.output.filter(({ type }) => type === 'function_call')).toHaveLength(2);
      const files = (await under.client().sessions.files(sessionOf(response))).map(({ filename }) => filename);
      expect(files).toEqual(expect.arrayContaining(['one.txt', 'two.txt']));
    });

    law('other-model', 'a model that names itself otherwise is told of', async () => {
      const events: string[] = [];
      const metadata = { harness_id: under.harnessId, reins_events: true };
      for await (const event of under.client().run(ask('[[other]] model', { metadata })))
        events.push(JSON.stringify(event));
      expect(events.some((event) => event.includes('served-other-model'))).toBe(true);
    });

    law('mcp', 'a tool of an MCP server of the settings is called', async () => {
      const response = await run(`[[mcp:${under.mcpTool}]] now`);
      expect(response.output.some((item) => item.type === 'function_call' && item.name.includes(under.mcpTool))).toBe(
        true,
      );
      expect(resultsOf(`[[mcp:${under.mcpTool}]] now`).join()).toMatch(/\d+/);
    });

    law('skill', 'a skill of the harness is named to the model', async () => {
      const content = '---\nname: shibboleth\ndescription: How we say the word ear-of-corn here\n---\nSay it so.';
      const { harness } = await make({ skills: [{ name: 'shibboleth', content }] });
      await run('[[text]] with a skill', { metadata: { harness_id: harness } });
      const bodies = under.model.requests.map(({ body }) => JSON.stringify(body));
      expect(bodies.find((body) => body.includes('with a skill') && body.includes('ear-of-corn'))).toBeDefined();
    });

    law('hostile-workspace', 'configuration that lies in the working directory is not run', async () => {
      const { harness } = await make({ reins_template: under.hostileTemplate });
      // A runtime that cannot keep from running it is not started there.
      const response = await run('[[tool]] in a strange place', { metadata: { harness_id: harness } });
      expect(['completed', 'failed']).toContain(response.status);
      expect(under.owned()).toEqual([]);
    });

    law('workspace-config', 'the same is loaded where the harness says so', async () => {
      const { harness } = await make({ reins_template: under.hostileTemplate, reins_workspace_config: true });
      expect((await run('[[tool]] at home', { metadata: { harness_id: harness } })).status).toBe('completed');
      expect(under.owned()).not.toEqual([]);
    });

    law('big-output', 'three megabytes of tool output end neither the task nor the server', async () => {
      expect((await run('[[big]] go')).status).toBe('completed');
    });

    function resultsOf(word: string): readonly string[] {
      return under.model.requests
        .filter(({ body }) => JSON.stringify(body).includes(word))
        .flatMap(({ results }) => results);
    }
    async function settle(id: string) {
      return under.client().attach(id).result();
    }
    async function openApproval(responseId: string) {
      const { approvals } = await under.client().approvals.list({ response: responseId });
      return approvals.find(({ status }) => status === 'pending');
    }
    async function filesOf(responseId: string) {
      const session = sessionOf(await under.client().responses.get(responseId));
      return (await under.client().sessions.files(session)).map(({ filename }) => filename);
    }
    async function make(settings: object): Promise<{ harness: string }> {
      const base = (await under.client().harnesses.get(under.harnessId)).base;
      const made = await under
        .client()
        .harnesses.create({ name: `Contract ${Math.abs(Object.keys(settings).length)}`, base, ...settings });
      return { harness: made.id };
    }
    const guarded = async () => (await make({ reins_permission_mode: 'allow-reads' })).harness;
    function toolsOffered(word: string) {
      return (
        under.model.requests.findLast(({ body, tools }) => tools.length > 0 && JSON.stringify(body).includes(word))
          ?.tools ?? []
      );
    }
  });
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // gone already
  }
}
