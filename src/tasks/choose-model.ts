import { ModelUnavailableError } from '../core/errors.ts';
import type { HarnessRecord } from '../stores/store.ts';
import type { ModelRef } from '../core/outcome.ts';
import type { Services } from './services.ts';
import type { TaskBody } from './task-body.ts';

export interface TaskModel {
  readonly ref: ModelRef;
  /** Present where another one was taken than was asked for (U-230). */
  readonly fallback?: { readonly requested: string; readonly reason: string };
}

/**
 * The model of a task: the one it asks for, else its harness's, else the base's. One that cannot be served is refused, unless
 * the harness lets the default stand in for it (UD-47).
 * @throws ModelUnavailableError
 */
export async function chooseModel({ harnesses }: Services, body: TaskBody, harness: HarnessRecord): Promise<TaskModel> {
  const adapter = harnesses.adapter(harness.base);
  if (adapter === undefined) throw new ModelUnavailableError(`there is none of the base '${harness.base}'.`, 'harness');
  const asked = body.model ?? harness.defaultModel;
  const { installed, problem } = await adapter.probe();
  if (!installed && problem !== null) throw new ModelUnavailableError(problem.message, 'harness');
  const choice = await adapter.chooseModel(asked);
  if (choice.available) return { ref: choice.ref };
  if (!harness.setup.modelFallback || asked === null) throw new ModelUnavailableError(choice.why);
  const substitutes = [...new Set([harness.defaultModel, null])].filter((name) => name !== asked);
  for (const name of substitutes) {
    const substitute = await adapter.chooseModel(name);
    if (substitute.available) return { ref: substitute.ref, fallback: { requested: asked, reason: choice.why } };
  }
  throw new ModelUnavailableError(choice.why);
}
