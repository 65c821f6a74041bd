import type { RunStarted } from '../../core/run-event.ts';
import type { RunState } from '../../core/run-state.ts';

/** To a runtime that goes on with a task it was torn from. */
export function goOnText(state: RunState, cause: RunStarted['cause']): string {
  if (cause === 'resume') return 'You were paused. Go on where you left off.';
  const asked = state.transcript.messages
    .filter(({ role }) => role === 'user')
    .flatMap((message) => (message.role === 'user' ? message.content : []));
  const request = asked.flatMap((part) => (part.type === 'media' ? [] : [part.text])).join('\n');
  return `You were interrupted while you worked on this request, and what ran then may or may not have finished: look before you repeat it. Go on where you left off. The request was:\n\n${request}`;
}

/** To a runtime whose call a person has spoken on while it was gone (H-042). */
export function wordOn(
  tool: string,
  said: { readonly approved: boolean; readonly note: string | undefined; readonly output: string | undefined },
): string {
  if (said.output !== undefined) return `The answer to your question: ${said.output}`;
  if (said.approved) return `The call of ${tool} that you asked for was approved. Make the very same call again now.`;
  return `The call of ${tool} that you asked for was refused.${said.note === undefined ? '' : ` ${said.note}`}`;
}
