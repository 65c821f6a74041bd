import { mayUseModel } from './principal-limits.ts';
import { ModelUnavailableError } from '../core/errors.ts';
import type { HarnessAdapter } from '../harnesses/harness.ts';
import type { HarnessRecord } from '../stores/harness-record.ts';
import type { ModelChoice } from '../core/model-choice.ts';
import type { ModelRef } from '../core/outcome.ts';
import type { Services } from './services.ts';
import type { TaskBody } from './task-body.ts';

export interface TaskModel {
  readonly ref: ModelRef;
  /** Present where another one was taken than was asked for (U-230). */
  readonly fallback?: { readonly requested: string; readonly reason: string };
}

/** Whose task it is, and the model that it names. */
export interface ModelRequest {
  readonly principal: string;
  readonly body: Pick<TaskBody, 'model'>;
}

/** The operator has not given the model to whoever asks for it (`limits.models`). */
export class ModelNotAllowedError extends ModelUnavailableError {
  /** Canonical. */
  readonly model: string;

  constructor(model: string) {
    super(`'${model}' is none of those that you may use.`);
    this.model = model;
  }
}

/**
 * The model of a task: the one it asks for, else its harness's, else the base's. One that cannot be served is refused, unless
 * the harness lets the default stand in for it (UD-47); one that its principal may not use is refused in any case.
 * @throws ModelUnavailableError
 */
export async function chooseModel(
  services: Services,
  { principal, body }: ModelRequest,
  harness: HarnessRecord,
): Promise<TaskModel> {
  const adapter = services.harnesses.adapter(harness.base);
  if (adapter === undefined) throw new ModelUnavailableError(`there is none of the base '${harness.base}'.`, 'harness');
  const asked = body.model ?? harness.defaultModel;
  const { installed, problem } = await adapter.probe();
  if (!installed && problem !== null) throw new ModelUnavailableError(problem.message, 'harness');
  const mayUse = (model: string) => mayUseModel(services, principal, model);
  const choice = await allowedChoice(adapter, asked, mayUse);
  if (choice.available) return { ref: choice.ref };
  if (!harness.setup.modelFallback || asked === null) throw new ModelUnavailableError(choice.why);
  const substitutes = [...new Set([harness.defaultModel, null])].filter((name) => name !== asked);
  for (const name of substitutes) {
    const substitute = await allowedChoice(adapter, name, mayUse);
    if (substitute.available) return { ref: substitute.ref, fallback: { requested: asked, reason: choice.why } };
  }
  throw new ModelUnavailableError(choice.why);
}

/** @throws ModelNotAllowedError */
async function allowedChoice(
  adapter: HarnessAdapter,
  name: string | null,
  mayUse: (model: string) => boolean,
): Promise<ModelChoice> {
  const choice = await adapter.chooseModel(name);
  if (choice.id !== '' && !mayUse(choice.id)) throw new ModelNotAllowedError(choice.id);
  return choice;
}
