// A foreign runtime as a harness: its sessions are opened, kept warm, parked and resumed, the same way for all of them. What
// becomes of one leg of a run is in `foreign-run.ts`.
//
// F1. One process tree a session, opened when a turn needs it, kept warm between turns, and let go when it has been idle, when
//     there are too many, or when the next turn needs another configuration. What was let go is resumed (H-074).

import { WarmSessions } from './warm-sessions.ts';
import { ForeignRun } from './foreign-run.ts';
import type { ForeignParts } from './foreign-parts.ts';
import type { ForeignRuntime } from './runtime.ts';
import type { HarnessAdapter, OpenSessionOptions, TurnOptions } from '../harness.ts';

export interface ForeignAdapter extends HarnessAdapter, AsyncDisposable {
  forgetSession(sessionId: OpenSessionOptions['sessionId']): Promise<void>;
}

export function createForeignAdapter(runtime: ForeignRuntime, parts: ForeignParts): ForeignAdapter {
  const { base, label, providers } = runtime;
  const warm = new WarmSessions(parts.warm, parts);
  const choose = (requested: string | null) => parts.models.choose(requested, providers);
  return {
    base,
    label,
    ...(runtime.mcpTransports === undefined ? {} : { mcpTransports: runtime.mcpTransports }),
    async probe() {
      const status = await runtime.probe();
      const models = status.installed ? parts.models.list(providers) : [];
      const choice = choose(null);
      return {
        installed: status.installed,
        version: status.version,
        problem: status.problem ?? (choice.available ? null : { code: 'no-credentials', message: choice.why }),
        models,
        defaultModel: choice.id,
        capabilities: runtime.capabilities,
      };
    },
    async chooseModel(requested) {
      const { problem } = await runtime.probe();
      const choice = choose(requested);
      return problem === null ? choice : { available: false, id: choice.id, why: problem.message };
    },
    async openSession(options) {
      const holder = {};
      const run = (turn: TurnOptions) => new ForeignRun({ runtime, parts, warm, holder, options, turn });
      return {
        prompt: (state, turn) => run(turn).begin(state),
        attach: (state, turn) => run(turn).goOn(state, turn),
        async [Symbol.asyncDispose]() {
          await warm.release(options.sessionId, holder);
        },
      };
    },
    isFull: (sessionId) => parts.pool.isFull && !warm.has(sessionId),
    async endParked(sessionId) {
      const here = await warm.discard(sessionId);
      return [...here, ...(await parts.homes.endElsewhere(sessionId, base))];
    },
    async forgetSession(sessionId) {
      await warm.discard(sessionId);
      await parts.homes.forget(sessionId);
    },
    [Symbol.asyncDispose]: () => warm[Symbol.asyncDispose](),
  };
}
