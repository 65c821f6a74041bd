import { createRig, type Rig } from './rig.ts';
import type { RunningTurn } from './action.ts';
import type { StoredTurn } from './stored-turn.ts';
import type { UhpResponse, UhpSession } from './wire.ts';

/** As it comes over the wire, where ids are texts. */
export const session: UhpSession = JSON.parse(
  JSON.stringify({
    id: 'hsess1',
    object: 'session',
    harness_id: 'chrn_demo',
    title: 'A talk',
    status: 'completed',
    created_at: 1,
    updated_at: 2,
  }),
);

/** A turn of three rows: what was asked, what was answered, and how it ended. */
export function storedTurn(at: number, answer = `answer ${at}`): StoredTurn {
  const content = [{ type: 'output_text', text: answer, annotations: [] }];
  const output = [{ id: 'msg_1', type: 'message', role: 'assistant', status: 'completed', content }];
  const response: UhpResponse = JSON.parse(
    JSON.stringify({
      id: `resp_t${at}`,
      status: 'completed',
      model: 'demo',
      output,
      usage: null,
      metadata: {},
      error: null,
      incomplete_details: null,
    }),
  );
  return {
    id: `resp_t${at}`,
    user: `question ${at}`,
    startedMs: 0,
    source: { kind: 'response', response },
  };
}

/** A page on which a stored session was opened. */
export function loadedRig({
  turns,
  more = false,
  running = null,
}: {
  readonly turns: number;
  readonly more?: boolean;
  readonly running?: RunningTurn | null;
}): Rig {
  return createRig()
    .do({ type: 'session_opened', sessionId: session.id })
    .do({
      type: 'session_loaded',
      session,
      turns: Array.from({ length: turns }, (_, at) => storedTurn(at)),
      more,
      running,
      spent: { reins_usage: { output_tokens: 10 }, reins_cost: { dollars: 1, estimated: false } },
      draft: {},
      chips: [],
    });
}
