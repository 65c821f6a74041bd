// The one line that every turn ends with (C-030).

import { collapse, shorten } from './utf8.ts';
import type { Ending, TurnEnd } from './turn-event.ts';
import type { UhpResponse } from './wire.ts';

export interface EndLine {
  readonly kind: 'system' | 'error';
  readonly text: string;
}

export const endPrefix = 'Turn ended ·';
const maxDetailUnits = 280;

/** An end of which no more is known than how. */
export function bareEnd(ending: Ending): TurnEnd {
  return { type: 'ended', ending, text: '', spent: {}, undelivered: [], cwd: null };
}

export function endLine(ending: Ending): EndLine {
  switch (ending.kind) {
    case 'finished':
      return system('model finished');
    case 'stopped':
      return system('you stopped');
    case 'chat-finished':
      return system('chat finished');
    case 'empty':
      return failure('empty model response', '');
    case 'timed-out':
      return failure('timed out', ending.detail);
    case 'invalid':
      return failure('invalid input', ending.detail);
    case 'error':
      return failure('error', ending.detail);
  }
}

function system(text: string): EndLine {
  return { kind: 'system', text: `${endPrefix} ${text}` };
}

function failure(text: string, detail: string): EndLine {
  const safe = shorten(collapse(detail), maxDetailUnits);
  return { kind: 'error', text: `${endPrefix} ${text}${safe === '' ? '' : ` · ${safe}`}` };
}

export interface Failure {
  readonly text: string;
  /** Of the HTTP answer or the event; null: there is none. */
  readonly status: number | null;
  readonly code?: string | null;
}

/** What kind of end a failure is: the first that fits. A stop of one's own is known by who asked for it. */
export function endingOf({ text, status, code = null }: Failure): Ending {
  const bare = status === null && code === null;
  const words = collapse(text);
  if (status === 499 || words === 'Request cancelled.') return { kind: 'stopped' };
  const timedOut = status === 408 || status === 504 || (code !== null && /time_?out/i.test(code));
  if (timedOut || (bare && /timeout|timed out|time-out|maxduration/i.test(words)))
    return { kind: 'timed-out', detail: /^the turn timed out\.?$/i.test(words) ? '' : words };
  if (/^empty model response\.?$/i.test(words)) return { kind: 'empty' };
  if (status === 400 || status === 413) return { kind: 'invalid', detail: words };
  return { kind: 'error', detail: plainWords(words) };
}

/** Our own sentences of this kind are read as parts of the line. */
function plainWords(words: string): string {
  if (!/^(output truncated|the model declined|budget reached: [^.]+)\.?$/i.test(words)) return words;
  return words.charAt(0).toLowerCase() + words.slice(1).replace(/\.$/, '');
}

const budgets: Readonly<Record<string, string>> = {
  max_step: 'budget reached: steps',
  quota: 'budget reached: quota',
  reins_max_cost: 'budget reached: cost',
  reins_max_total_tokens: 'budget reached: tokens',
  reins_loop: 'budget reached: loop',
  max_output_tokens: 'output truncated',
};

/** How a task ended (UD-83). Null: it has not. */
export function endingOfResponse({ status, error, incomplete_details }: UhpResponse): Ending | null {
  switch (status) {
    case 'in_progress':
      return null;
    case 'completed':
      return { kind: 'finished' };
    case 'cancelled':
      return { kind: 'stopped' };
    case 'incomplete': {
      const reason = incomplete_details?.reason ?? 'incomplete';
      return reason === 'timeout'
        ? { kind: 'timed-out', detail: '' }
        : { kind: 'error', detail: budgets[reason] ?? reason };
    }
    case 'failed':
      return endingOf({
        text: error?.message ?? 'The task failed.',
        status: null,
        code: error?.code ?? 'harness_error',
      });
  }
}
