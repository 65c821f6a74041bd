import * as z from 'zod';
import { checkFields, readBody } from './parse-body.ts';
import { InvalidInputError } from '../../core/errors.ts';
import { messageId } from './message-id.ts';
import { parseCreateResponse, type CreateResponse } from './request.ts';
import type { RunId } from '../../core/ids.ts';

/** A task that waits for its session (UR-21). */
export type UhpQueuedTask = {
  readonly id: string;
  readonly object: 'reins.queued_task';
  readonly status: 'queued' | 'held' | 'started';
  /** 1: the next to start; 0: started. */
  readonly position: number;
  readonly response_id: RunId | null;
};

export type UhpQueue = { readonly queue: readonly UhpQueuedTask[]; readonly held: boolean };

const queueBody = z.object({ message_id: messageId });
/** The queue itself says what it follows, and nobody waits for it at the end of this request. */
const foreign = ['previous_response_id', 'stream', 'background'];

/** The body of UR-21. @throws InvalidInputError */
export function parseQueuedTask(body: unknown): { readonly task: CreateResponse; readonly messageId: string | null } {
  const { message_id, ...task } = readBody(body);
  const fields = checkFields(queueBody, message_id === undefined ? {} : { message_id });
  const name = foreign.find((key) => (task[key] ?? null) !== null);
  if (name !== undefined) throw new InvalidInputError(`A queued task takes no ${name}.`, name);
  return { task: parseCreateResponse(task), messageId: fields.message_id ?? null };
}

interface EntryFacts extends Pick<UhpQueuedTask, 'status' | 'position'> {
  readonly messageId: string;
  readonly runId: RunId | null;
}

export function toQueuedTask({ messageId: id, status, position, runId }: EntryFacts): UhpQueuedTask {
  return { id, object: 'reins.queued_task', status, position, response_id: runId };
}

export function toQueue({
  entries,
  held,
}: {
  readonly entries: readonly EntryFacts[];
  readonly held: boolean;
}): UhpQueue {
  return { queue: entries.map(toQueuedTask), held };
}
