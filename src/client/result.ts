import { NotCompletedError } from './errors.ts';
import { outputOf, type Assembly } from './assemble-output.ts';
import { textOf } from './loose.ts';
import type { Annotation, OutputItem, UhpResponse, UhpUsage } from '../protocol/uhp/response.ts';
import type { ErrorBody } from '../protocol/uhp/error.ts';

/** How a task ended. A failed one is a result as well. */
export interface Result {
  readonly response: UhpResponse;
  /** The conversation that it belongs to; `previous_response_id` goes on with it. */
  readonly sessionId: string;
  readonly status: Exclude<UhpResponse['status'], 'in_progress'>;
  /** All that the agent said, joined; also what a task that did not complete had said by then. */
  readonly text: string;
  /** Files that its messages name, each once, in order. */
  readonly files: readonly Annotation[];
  /** Null: nobody counted. */
  readonly usage: UhpUsage | null;
  /** Never null where `status` is `failed`. */
  readonly error: ErrorBody | null;
  /** The text, parsed. @throws NotCompletedError  Half an answer is never parsed. @throws SyntaxError  It is no JSON. */
  json(): unknown;
}

/** What is there so far. */
export interface Snapshot {
  /** Null: the server has not said yet. */
  readonly responseId: string | null;
  /** Of the last event that is in it; -1 before the first. */
  readonly sequenceNumber: number;
  readonly status: UhpResponse['status'];
  readonly output: readonly OutputItem[];
  readonly text: string;
}

export function toResult(response: UhpResponse): Result {
  const status = response.status === 'in_progress' ? 'failed' : response.status;
  const error = response.error ?? (status === 'failed' ? unexplained : null);
  const text = textOfOutput(response.output);
  return {
    response,
    sessionId: textOf(response.metadata, 'session_id') ?? '',
    status,
    text,
    files: filesOf(response.output),
    usage: response.usage ?? null,
    error,
    json() {
      if (status === 'completed') return JSON.parse(text);
      const code = error?.code ?? status;
      throw new NotCompletedError({
        type: 'harness_error',
        code,
        message: `There is no answer: the task is ${status}.`,
      });
    },
  };
}

/** A failure has a code, even where its server gave none (B059). */
const unexplained: ErrorBody = {
  type: 'harness_error',
  code: 'harness_error',
  message: 'The task failed; its server did not say why.',
  param: null,
  detail: null,
};

export function toSnapshot(
  assembly: Assembly,
  facts: Pick<Snapshot, 'responseId' | 'sequenceNumber' | 'status'>,
): Snapshot {
  const output = outputOf(assembly);
  return { ...facts, output, text: textOfOutput(output) };
}

function textOfOutput(output: readonly OutputItem[]): string {
  return partsOf(output)
    .map(({ text }) => text ?? '')
    .join('');
}

function filesOf(output: readonly OutputItem[]): readonly Annotation[] {
  const byId = new Map(
    partsOf(output).flatMap(({ annotations }) => (annotations ?? []).map((file) => [file.file_id, file] as const)),
  );
  return [...byId.values()];
}

function partsOf(output: readonly OutputItem[]) {
  return output.flatMap((item) => (item.type === 'message' ? item.content : []));
}
