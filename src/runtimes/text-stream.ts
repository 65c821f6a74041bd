import { leavable } from './leavable.ts';
import type { ResetReason, RunEvent } from '../core/run-event.ts';
import type { RunStream } from './run-stream.ts';

export interface TextReset {
  readonly step: number;
  readonly attempt: number;
  readonly reason: ResetReason;
  /** Whether anything of the attempt was shown. */
  readonly shown: boolean;
  /** The text that stays valid: that of all accepted turns so far. A display shows it and goes on (E-038). */
  readonly kept: string;
}

export interface TextOptions {
  /** A model call is tried again: what it showed is void. Without it the answer starts over in the stream. */
  readonly onReset?: (reset: TextReset) => void;
}

export interface TextStream extends AsyncIterable<string>, AsyncDisposable {}

/**
 * The answer's text as it comes: the data of all `text-delta`, without separators; no thinking, no tool input, no notices
 * (E-037). Leaving it leaves the stream behind it.
 * @throws RunError  At the end, where the run has no whole answer (E-039).
 */
export function textOf(stream: RunStream, options: TextOptions = {}): TextStream {
  return {
    [Symbol.asyncIterator]() {
      const events = stream[Symbol.asyncIterator]();
      const left = new AbortController();
      return leavable(textIn(events, { stream, signal: left.signal, ...options }), async (close) => {
        left.abort();
        await events.return?.();
        // It ends with the events behind it; how long these are waited for is bounded there.
        close().catch(() => {});
      });
    },
    [Symbol.asyncDispose]: () => stream[Symbol.asyncDispose](),
  };
}

async function* textIn(
  events: AsyncIterator<RunEvent>,
  { stream, signal, onReset }: TextOptions & { readonly stream: RunStream; readonly signal: AbortSignal },
): AsyncGenerator<string> {
  let kept = '';
  for await (const event of { [Symbol.asyncIterator]: () => events }) {
    if (event.agentPath?.length) continue; // A sub-agent's text is no text of its parent (E-114).
    if (event.type === 'text-delta') yield event.data;
    else if (event.type === 'text-complete') kept += event.data;
    else if (event.type === 'attempt-reset') {
      const { step, attempt, reason, shown } = event.data;
      onReset?.({ step, attempt, reason, shown, kept });
    }
  }
  if (!signal.aborted) (await stream.result()).raiseForStatus();
}
