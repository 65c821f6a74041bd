import { setImmediate } from 'node:timers/promises';
import { callChain, type ChainMember, type RequestOptions } from '../engine/call-chain.ts';
import { createManualClock, type ManualClock } from './manual-clock.ts';
import { createModelHealth, type ModelHealth } from '../engine/model-health.ts';
import { createScriptedModel, type ScriptedModel } from './scripted-model.ts';
import { defaultPolicies, type ProgressPolicy, type RetryPolicy } from '../engine/policies.ts';
import { silentLogger, type Logger } from '../core/logger.ts';
import type { EventDraft } from '../core/run-event.ts';
import type { Middleware, ModelRequestDraft } from '../engine/middleware.ts';
import type { ModelPart } from '../engine/models/model-part.ts';
import type { Model, ModelRequest, ModelTraits } from '../engine/model.ts';
import type { ModelOutcome } from '../engine/model-outcome.ts';
import type { ModelRef } from '../core/outcome.ts';
import type { ReplyScript } from './model-servers/reply-script.ts';

export interface RigMember {
  readonly replies?: ReplyScript<ModelRequest>;
  /** In place of `replies`. */
  readonly model?: Model;
  readonly traits?: ModelTraits;
}

export interface ChainRigOptions {
  /** By name of the model, the requested one first; their provider is `p`. */
  readonly members: Readonly<Record<string, RigMember>>;
  readonly retry?: Partial<RetryPolicy>;
  readonly progress?: Partial<ProgressPolicy>;
  readonly middleware?: readonly Middleware[];
  readonly logger?: Logger;
  readonly request?: Partial<ModelRequestDraft>;
}

export interface ChainResult {
  readonly groups: readonly (readonly EventDraft[])[];
  readonly drafts: readonly EventDraft[];
  readonly outcome: ModelOutcome;
  /** From the call to its outcome. */
  readonly tookMs: number;
}

/** The chain of models without a run around it: scripted models, a manual clock, and one health over all calls. */
export interface ChainRig {
  readonly clock: ManualClock;
  health: ModelHealth;
  readonly models: Readonly<Record<string, ScriptedModel>>;
  /** How a member is opened, to be replaced. */
  readonly opening: Record<string, ChainMember['open']>;
  /** With what each request was asked for. */
  readonly asked: readonly RequestOptions[];
  call(options?: {
    readonly attempt?: number;
    readonly pinned?: string;
    readonly signal?: AbortSignal;
    readonly onGroup?: (group: readonly EventDraft[]) => void | Promise<void>;
  }): Promise<ChainResult>;
}

export const rigRef = (model: string): ModelRef => ({ provider: 'p', model });

export function createChainRig(options: ChainRigOptions): ChainRig {
  const clock = createManualClock();
  const asked: RequestOptions[] = [];
  const models: Record<string, ScriptedModel> = {};
  const opening: ChainRig['opening'] = {};
  const members = Object.entries(options.members).map(([name, member]): ChainMember => {
    const model = createScriptedModel(member.replies ?? [], { clock, provider: 'p', modelId: name });
    models[name] = model;
    const opened = { model: member.model ?? model, traits: member.traits ?? {}, maxOutputTokens: null };
    opening[name] = async () => opened;
    return { ref: rigRef(name), open: async () => (await opening[name]?.()) ?? opened };
  });
  const { retry, progress } = defaultPolicies;
  const policies = {
    ...defaultPolicies,
    retry: { ...retry, ...options.retry },
    progress: { ...progress, ...options.progress },
  };
  const rig: ChainRig = {
    clock,
    health: createModelHealth({ clock }),
    models,
    opening,
    asked,
    async call({ attempt = 1, pinned, signal = new AbortController().signal, onGroup } = {}) {
      const startMs = clock.now();
      const groups: (readonly EventDraft[])[] = [];
      const calling = callChain({
        step: 1,
        attempt,
        members,
        pinned: pinned === undefined ? null : rigRef(pinned),
        signal,
        clock,
        logger: options.logger ?? silentLogger,
        policies,
        health: rig.health,
        middleware: options.middleware,
        async request(_, o) {
          asked.push(o);
          return { prompt: [{ role: 'user', content: [{ type: 'text', text: 'Go.' }] }], ...options.request };
        },
      });
      const read = async (): Promise<ModelOutcome> => {
        for (;;) {
          const { done, value } = await calling.next();
          if (done === true) return value;
          groups.push(value);
          await onGroup?.(value);
        }
      };
      const outcome = await whileTimePasses(read(), clock);
      return { groups, drafts: groups.flat(), outcome, tookMs: clock.now() - startMs };
    },
  };
  return rig;
}

/** A model whose one stream is these parts, each in a turn of the event loop of its own. */
export function streamOf(parts: readonly ModelPart[]): Model {
  async function* inTurns() {
    for (const part of parts) {
      yield part;
      for (let turn = 0; turn < 4; turn++) await setImmediate();
    }
  }
  return { provider: 'p', modelId: 'parts', doStream: async () => ({ stream: ReadableStream.from(inTurns()) }) };
}

/** The promise, with the clock moved on by tenths of seconds until it settles. Fails after a simulated hour. */
export async function whileTimePasses<T>(promise: Promise<T>, clock: ManualClock): Promise<T> {
  const settled = promise.then(
    () => true,
    () => true,
  );
  for (let tenth = 0; tenth < 36_000; tenth++) {
    await clock.advance(0);
    if (await Promise.race([settled, Promise.resolve(false)])) return promise;
    await clock.advance(100);
  }
  throw new Error('It did not end within an hour of its clock.');
}
