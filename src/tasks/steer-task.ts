import {
  CapabilityUnsupportedError,
  IdempotencyConflictError,
  RuntimeStateError,
  TaskEndedError,
} from '../core/errors.ts';
import { factPosition } from './fact-position.ts';
import { findRun } from './find-in-scope.ts';
import type { RunId } from '../core/ids.ts';
import type { RunRecord } from '../stores/store.ts';
import type { Services } from './services.ts';
import { join } from 'node:path';
import { rm } from 'node:fs/promises';
import { namesByContent } from '../files/place-file.ts';
import { placeInputFiles } from './place-input-files.ts';
import { chargeUpload } from './principal-limits.ts';
import { findFiles, takeInFiles } from './take-in-files.ts';
import type { InputPart } from '../core/input-file.ts';
import type { UserMessage } from '../core/run-event.ts';

export interface SteeringMessage {
  readonly content: readonly InputPart[];
  /** The caller's own, for repeating; null = one is made. */
  readonly messageId: string | null;
}

/**
 * A message to a task at work: in its log at once, read at the next step, also after a wait (E-660, E-665). The log decides
 * between the message and the end: it is in, or it is refused (E-661).
 * @throws RequestError  404; 409 `reins_task_ended`, `reins_idempotency_conflict`; 422 where the harness takes none.
 */
export async function steerTask(
  services: Services,
  principal: string,
  { responseId, message }: { readonly responseId: string; readonly message: SteeringMessage },
): Promise<{ readonly messageId: string; readonly runId: RunId }> {
  const run = await findRun(services, principal, responseId);
  await requireSteering(services, run);
  const { runId } = run;
  const messageId = message.messageId ?? `msg_${services.random.token()}`;
  const found = await findFiles(services, principal, [{ content: message.content }]);
  await using undo = new AsyncDisposableStack();
  undo.defer((await chargeUpload(services, principal, found.givenBytes)).release);
  // Who is at work has another directory, or will have: it places them when it hears the message.
  const isElsewhere = services.files?.foldersMove === true && run.owner !== services.owner;
  const { messages } = await takeInFiles(services, { ...run, ...(isElsewhere && { names: namesByContent }) }, found);
  const placed = isElsewhere ? [] : await placeFiles(services, run, messages);
  undo.defer(() => takeBack(services, run, placed));
  const data = { messageId, content: messages.flatMap(({ content }) => content), mode: 'steer' } as const;
  const event = { ...(await factPosition(services, run)), type: 'user-message', data } as const;
  const stored = await services.log.appendFact({ event });
  switch (stored.outcome) {
    case 'stored':
      undo.move();
      return { messageId, runId };
    case 'known':
      return { messageId, runId };
    case 'conflict':
      throw new IdempotencyConflictError('message_id');
    case 'ended':
      throw new TaskEndedError();
    case 'decided':
      throw new RuntimeStateError('A message cannot be decided.');
  }
}

/** Before the message is in the log: who reads it finds them. */
async function placeFiles(
  services: Services,
  run: RunRecord,
  messages: readonly UserMessage[],
): Promise<readonly string[]> {
  if (messages.every(({ content }) => content.every(({ type }) => type === 'text'))) return [];
  const placed = await placeInputFiles(services, await services.workspaces.ensure(run.sessionId), messages);
  for (const path of placed) await services.files?.given(run, path);
  return placed;
}

/** Files of a message that was not taken in. */
async function takeBack({ workspaces }: Services, { sessionId }: RunRecord, placed: readonly string[]): Promise<void> {
  for (const path of placed) await rm(join(await workspaces.ensure(sessionId), path), { force: true });
}

async function requireSteering({ harnesses, store }: Services, run: RunRecord): Promise<void> {
  const harness = await store.harness(run.harnessId);
  const status = await harnesses.adapter(harness?.base ?? '')?.probe();
  if (status?.capabilities.steer === 'none') throw new CapabilityUnsupportedError('takes no messages while it works');
}
