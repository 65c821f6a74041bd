// A durable runtime with one scripted agent, on a file of its own, which can be closed and opened again as a later process
// would find it.

import { createFastClock } from './fast-clock.ts';
import { createRuntime, type AgentDefinition } from '../../src/runtime.ts';
import { createScriptedModel, type ScriptedModel } from '../../src/testing/scripted-model.ts';
import { defineTool } from '../../src/engine/define-tool.ts';
import { expect } from 'vitest';
import { join } from 'node:path';
import { mkdtempSync, rmSync } from 'node:fs';
import { collect, noSettings } from './agents.ts';
import { openSqlite } from '../../src/stores/sqlite/open-sqlite.ts';
import { tmpdir } from 'node:os';
import type { AgentConfig } from '../../src/runtimes/agent-config.ts';
import type { AgentParts } from '../../src/agent.ts';
import type { ApprovalRecord, Store } from '../../src/stores/store.ts';
import type { Clock } from '../../src/core/clock.ts';
import type { Model, ModelRequest } from '../../src/engine/model.ts';
import type { PendingFilter, Runtime } from '../../src/runtimes/runtime.ts';
import type { ReplyScript } from '../../src/testing/model-servers/reply-script.ts';
import type { RunEvent, RunEventOf } from '../../src/core/run-event.ts';
import type { RunStatus } from '../../src/core/outcome.ts';
import type { Tool } from '../../src/engine/tool.ts';

export interface RuntimeRigOptions {
  readonly config?: AgentConfig;
  readonly parts?: AgentParts;
  /** Beside the scripted one. */
  readonly agents?: readonly AgentDefinition[];
  readonly clock?: Clock;
  readonly deltaSeconds?: number;
  readonly agentWaitSeconds?: number;
}

export interface RuntimeRig extends AsyncDisposable {
  readonly runtime: Runtime;
  readonly model: ScriptedModel;
  readonly clock: Clock;
  /** As another process sees it. */
  readonly store: Store;
  readonly path: string;
  /** A second process beside this one. */
  beside(options?: RuntimeRigOptions): Runtime;
  /** Closes it, at once, and opens another one over what it left. */
  restart(options?: RuntimeRigOptions): Promise<void>;
}

/** A second is as long as 50 ms of a test. */
export const testClock = (): Clock => createFastClock(20);

export function openRuntime(replies: ReplyScript<ModelRequest>, options: RuntimeRigOptions = {}): RuntimeRig {
  const folder = mkdtempSync(join(tmpdir(), 'reins-runtime-'));
  const path = join(folder, 'runs.sqlite');
  const clock = options.clock ?? testClock();
  const model = createScriptedModel(replies);
  const open = ({ config, parts, agents = [], deltaSeconds, agentWaitSeconds }: RuntimeRigOptions) =>
    createRuntime({
      agents: [
        { config: { name: 'worker', ...config }, parts: { provider: model, settings: noSettings, ...parts } },
        ...agents,
      ],
      driver: { kind: 'sqlite', path },
      clock,
      ...(deltaSeconds === undefined ? {} : { retention: { deltaSeconds } }),
      ...(agentWaitSeconds === undefined ? {} : { recovery: { agentWaitSeconds } }),
    });
  const opened: Runtime[] = [open(options)];
  const store = openSqlite(path);
  return {
    get runtime() {
      const [last] = opened;
      if (last === undefined) throw new Error('No runtime is open.');
      return last;
    },
    model,
    clock,
    store,
    path,
    beside(change) {
      const other = open({ ...options, ...change });
      opened.push(other);
      return other;
    },
    async restart(change) {
      await opened[0]?.close({ drainMs: 0 });
      opened[0] = open({ ...options, ...change });
    },
    async [Symbol.asyncDispose]() {
      for (const each of opened) await each.close({ drainMs: 0 });
      await store[Symbol.asyncDispose]();
      rmSync(folder, { recursive: true });
    },
  };
}

const anything = { type: 'object', properties: {}, additionalProperties: true } as const;

/** A tool that counts how often its handler was called, and answers `did <name>`. */
export function counted(name: string, facts: Partial<Tool> = {}): Tool & { readonly runs: () => number } {
  let runs = 0;
  const tool = defineTool({ name, description: name, input: anything, run: () => `did ${name}` });
  const run: Tool['run'] = async (input, context) => {
    runs += 1;
    return (facts.run ?? tool.run)(input, context);
  };
  return { ...tool, ...facts, run, runs: () => runs };
}

/** A tool that works until it is let go, or stopped. */
export function held(name: string, facts: Partial<Tool> = {}) {
  const begun = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<void>();
  const tool = counted(name, {
    ...facts,
    run: (_, { signal }) =>
      new Promise((resolve) => {
        begun.resolve();
        const end = () => resolve({ content: `did ${name}` });
        void gate.promise.then(end);
        signal.addEventListener('abort', end);
      }),
  });
  return { tool, begun: begun.promise, open: () => gate.resolve() };
}

/** The model, standing still behind the first piece of text of its call number `at` until it is let go, or stopped. */
export function heldModel(model: Model, at = 0) {
  const begun = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<void>();
  let calls = 0;
  const doStream: Model['doStream'] = async (request) => {
    const reply = await model.doStream(request);
    if (calls++ !== at) return reply;
    request.abortSignal?.addEventListener('abort', () => gate.resolve());
    const hold = async (type: string) => {
      if (type !== 'text-delta') return;
      begun.resolve();
      await gate.promise;
    };
    const parts = new TransformStream<Part, Part>({
      async transform(part, out) {
        out.enqueue(part);
        await hold(part.type);
      },
    });
    return { ...reply, stream: reply.stream.pipeThrough(parts) };
  };
  return { model: { ...model, doStream }, begun: begun.promise, open: () => gate.resolve() };
}

type Part = Awaited<ReturnType<Model['doStream']>>['stream'] extends ReadableStream<infer P> ? P : never;

export async function eventually<T>(look: () => Promise<T | undefined> | T | undefined): Promise<T> {
  for (let round = 0; round < 500; round++) {
    const found = await look();
    if (found !== undefined) return found;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error('It did not come about in five seconds.');
}

/** The whole log of a run, to its end. */
export async function logOf(runtime: Runtime, runId: string): Promise<readonly RunEvent[]> {
  return collect(await runtime.events(runId, { follow: 'run' }));
}

export function ofType<T extends RunEvent['type']>(events: readonly RunEvent[], type: T): readonly RunEventOf<T>[] {
  return events.filter((event): event is RunEventOf<T> => event.type === type);
}

/** Waits until the run stands so. */
export async function standing(runtime: Runtime, runId: string, status: RunStatus): Promise<void> {
  const handle = await runtime.handle(runId);
  await eventually(async () => (await handle.status()) === status || undefined);
}

/** The one entry that is open. */
export async function theOpen(runtime: Runtime, filter?: PendingFilter): Promise<ApprovalRecord> {
  const open = await eventually(async () => {
    const list = await runtime.approvals.list(filter);
    return list.length > 0 ? list : undefined;
  });
  expect(open).toHaveLength(1);
  const [first] = open;
  if (first === undefined) throw new Error('Nothing is open.');
  return first;
}
