import type { EventDraft } from '../core/run-event.ts';
import type { RunState } from '../core/run-state.ts';

/** The first event of the next leg: after a park because of what was said, else because an owner is gone. */
export function nextLeg(state: RunState): Extract<EventDraft, { type: 'run-started' }> {
  const parked = state.result?.status;
  const cause = parked === undefined ? 'recovery' : parked === 'paused' ? 'resume' : 'decision';
  const { agent, config, requested: model, limits } = state;
  const whose = { ...(agent === null ? {} : { agent }), ...(config === null ? {} : { _base: config.base }) };
  const data = { leg: state.leg + 1, cause, ...whose, model, limits } as const;
  return { type: 'run-started', data, step: state.step, attempt: 0 };
}
