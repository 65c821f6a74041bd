// The text view: a run for a person at a terminal (E-037, E-038). Answer text goes out as it streams; everything else is a
// line of its own.
//
// X1. Pure fold; the view of a prefix is a prefix of the view (E-948).
// X2. Text that was shown is never taken back. A given-up attempt is named, and the answer then starts over (E-038).

import type { JsonValue } from '../core/json.ts';
import { verdictOf, type RunResultData } from '../core/outcome.ts';
import type { ApprovalWord, EventData, EventDraft, PendingTool, RunEvent } from '../core/run-event.ts';
import { head } from '../core/text.ts';
import { totalTokens } from '../core/usage.ts';
import { toolSummary } from './tool-summary.ts';

export interface TextPiece {
  /** `text`: a piece of the answer, as it comes. `tool`, `note`: one line without its end. */
  readonly kind: 'text' | 'tool' | 'note';
  readonly text: string;
}

export interface TextView {
  push(event: EventDraft | RunEvent): readonly TextPiece[];
}

const nothing: readonly TextPiece[] = [];
const text = (piece: string): readonly TextPiece[] => [{ kind: 'text', text: piece }];
const tool = (line: string): readonly TextPiece[] => [{ kind: 'tool', text: line }];
const note = (line: string): readonly TextPiece[] => [{ kind: 'note', text: line }];

export function createTextView(): TextView {
  /** Text shown by the attempt in flight. */
  let shown = '';
  /** The calls of the step, as they were shown. */
  let calls = '';
  return {
    push(event) {
      if (event.agentPath !== undefined && event.agentPath.length > 0) return nothing;
      switch (event.type) {
        case 'text-delta':
          shown += event.data;
          return text(event.data);
        case 'text-complete': {
          const missing = shown === '' ? event.data : '';
          shown = event.data;
          return missing === '' ? nothing : text(missing);
        }
        case 'step-started':
          shown = '';
          calls = '';
          return nothing;
        case 'attempt-reset': {
          const visible = shown !== '';
          shown = '';
          return note(describeReset(event.data, visible));
        }
        case 'tool-call-start': {
          const line = `${event.data.name} ${argumentSummary(event.data.input)}`.trimEnd();
          calls += `${line}\n`;
          return tool(line);
        }
        case 'file-changed': {
          const { kind, path, fileId } = event.data;
          // Most calls name their file, and what the host kept is no news of the agent's.
          return fileId !== undefined || calls.includes(path) ? nothing : tool(`  ${kind} ${oneLine(path, 200)}`);
        }
        case 'tool-result':
          return tool(`  ${toolSummary(event.data)}`);
        case 'waiting':
          return note(
            `Waiting for the ${describeWait(event.data)}, ${Math.round(event.data.seconds)} s so far${describeLife(event.data)}.`,
          );
        case 'model-switched':
          return event.data.kind === 'failover'
            ? note(`Going on with ${event.data.to.model}: ${event.data.reason}.`)
            : nothing;
        case 'approval-required':
          return describeRequest(event.data).flatMap(note);
        case 'recovery-required':
          return note(`Waits for a person: nobody knows whether ${event.data.call.name} ran to its end.`);
        case 'approval-decided':
          return note(`${decisionWords[event.data.decision]} by ${event.data.by}.`);
        case 'budget-reached':
          return note(`A limit is reached: ${event.data.budget}, ${event.data.used} of ${event.data.limit}.`);
        case 'gap':
          return event.data.reason === 'files-limit' || event.data.reason === 'files-unchecked'
            ? note('Not every file of this task could be kept as an artifact.')
            : note('Some live output could not be kept; the result is whole.');
        case 'run-result':
          return note(describeEnd(event.data));
        case 'run-started':
        case 'user-message':
        case 'thinking-delta':
        case 'tool-call-delta':
        case 'thinking-complete':
        case 'turn-complete':
        case 'tool-dispatched':
        case 'tool-call-complete':
        case 'todos-updated':
        case 'tool-output-delta':
        case 'compacted':
        case 'step-finished':
        case 'error':
          return nothing;
        default:
          event satisfies never;
          return nothing;
      }
    },
  };
}

function describeWait({ on, name, position }: EventData['waiting']): string {
  switch (on) {
    case 'tool':
      return `tool ${name ?? ''}`.trimEnd();
    case 'retry':
      return 'next try';
    case 'capacity':
      return `process that is free (number ${position ?? 1} in the line)`;
    case 'model':
      return 'model';
  }
}

/** That somebody is there is another thing than that the work goes on (B147). */
function describeLife({ lastByteMs }: EventData['waiting']): string {
  return lastByteMs === undefined ? '' : `; the connection was alive ${Math.round(lastByteMs / 1_000)} s ago`;
}

function describeReset({ reason, retryInMs }: EventData['attempt-reset'], visible: boolean): string {
  const when = retryInMs < 1000 ? 'now' : `in ${Math.round(retryInMs / 1000)} s`;
  const start = visible ? 'The reply above broke off and starts over' : 'The model call failed; next try';
  return `${start} ${when} (${reason}).`;
}

function describeRequest({ kind, call, questions = [] }: PendingTool): readonly string[] {
  if (kind !== 'question') return [`Waits for a decision: ${call.name} ${argumentSummary(call.input)}`.trimEnd()];
  return questions.map(({ question, options = [] }) => {
    const choice = options.length === 0 ? '' : ` (${options.join(' / ')})`;
    return oneLine(`Waits for an answer: ${question}${choice}`, 400);
  });
}

const decisionWords: Readonly<Record<ApprovalWord, string>> = {
  approve: 'Approved',
  deny: 'Refused',
  answer: 'Answered',
  decline: 'Declined',
  result: 'The result was given',
  retry: 'A further try was allowed',
  abort: 'Given up',
  expired: 'Not decided in time; closed',
  cancelled: 'Cancelled',
};

/** The first arguments in a few words: long values are cut, nested ones left out. */
function argumentSummary(input: JsonValue): string {
  const values = typeof input === 'object' && input !== null ? Object.values(input) : [input];
  const plain = values.filter((value) => typeof value === 'string' || typeof value === 'number');
  return head(plain.map((value) => oneLine(String(value), 200)).join(' '), 100);
}

function oneLine(value: string, most: number): string {
  return head(value, most).replace(/\s+/g, ' ').trim();
}

function describeEnd(result: RunResultData): string {
  const tokens = result.usage === null ? null : totalTokens(result.usage);
  const facts = `${result.steps} ${result.steps === 1 ? 'step' : 'steps'}${tokens === null ? '' : `, ${tokens} tokens`}`;
  const left = result.unstopped.length === 0 ? '' : ` Still running: ${result.unstopped.join(', ')}.`;
  return `${endSentence(result)} (${facts})${left}`;
}

function endSentence(result: RunResultData): string {
  switch (verdictOf(result)) {
    case 'ok':
      return 'Done.';
    case 'truncated':
      return 'Stopped: the answer was cut at the output limit.';
    case 'limited':
      return `Stopped by a limit: ${result.stopReason ?? 'unknown'}.`;
    case 'refused':
      return 'The model declined.';
    case 'unfinished':
      return 'Ended without a whole answer.';
    case 'failed':
      return `Failed: ${result.error?.message ?? 'no reason is known.'}`;
    case 'needs-input':
      return 'Waits for a person.';
    case 'cancelled':
      return 'Cancelled.';
    case 'running':
      return 'Goes on.';
  }
}
