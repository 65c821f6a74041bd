import type { Effect } from '../state/effect.ts';
import type { RunRequest } from '../../client/index.ts';

/** The task that a message asks for, with the server's own events in its stream (C-001). */
export function requestOf(effect: Extract<Effect, { type: 'send' }>): RunRequest {
  const { text, attachments, previousResponseId, fork, model, harness } = effect;
  const files = attachments.map((file_id) => ({ type: 'input_file', file_id }) as const);
  return {
    input: files.length === 0 ? text : [{ role: 'user', content: [{ type: 'input_text', text }, ...files] }],
    ...(model === null ? {} : { model }),
    ...(previousResponseId === null ? {} : { previous_response_id: previousResponseId }),
    metadata: {
      reins_events: true,
      ...(fork ? { reins_fork: true } : {}),
      // A session keeps the harness that it began with; a fork is a session of its own.
      ...(harness === null || previousResponseId !== null ? {} : { harness_id: harness }),
    },
  };
}
