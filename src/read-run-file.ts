// A file of stream parts, one a line, as runs that have ended (`reins import`).
//
// I1. With our envelope each run is what it was; without, its parts are read by their place, as a turn of somebody else (P-068).
// I2. A file is taken whole or not at all: a line that is no part, or a log that breaks the laws, refuses it, with its place.
// I3. A run that had not ended when it was written has failed: nobody goes on with it here.
// I4. The same file gives the same runs under the same ids, whenever it is read.
// I5. What it holds is what it says: it reaches nothing that is kept here.

import { applyDrafts, closeRun } from './core/closing.ts';
import { checkLog } from './core/check-log.ts';
import { createPartsLog, isOfLog, PartsLogError } from './views/parts-log.ts';
import { evolve, initialRunState } from './core/run-state.ts';
import { endsLog } from './stores/event-shape.ts';
import { harnessIds, runIds, sessionIds, type RunId } from './core/ids.ts';
import { hash } from 'node:crypto';
import { keptItems } from './tasks/input-items.ts';
import { logOfParts } from './harnesses/harness-v1/log-of-parts.ts';
import { readStreamPart } from './protocol/parts/read-stream-part.ts';
import { ReinsError } from './core/errors.ts';
import { StreamPartError } from './protocol/parts/stream-part-error.ts';
import type { EventDraft, RunEvent, TaskFacts, UserPart } from './core/run-event.ts';
import type { StreamPart } from './protocol/parts/stream-part.ts';

/** The file cannot be taken; the message names the places. */
export class RunFileError extends ReinsError {}

/** Of runs that no harness of a server has made. */
export const importedHarness = harnessIds.make('imported');

export interface RunsOfFile {
  /** Logs with their end, in the order of the file. */
  readonly logs: readonly (readonly RunEvent[])[];
  /** Parts that no event says, such as those of a younger vocabulary (P-067). */
  readonly leftOut: number;
}

interface Line {
  readonly number: number;
  readonly part: StreamPart;
}

/** @throws RunFileError */
export function readRunFile(text: string, atMs: number): RunsOfFile {
  const { lines, unknown } = readLines(text);
  if (lines.length === 0) throw new RunFileError('It holds no part.');
  const read = lines.some(({ part }) => isOfLog(part)) ? ownRuns(lines) : foreignRuns(lines, { text, atMs });
  return { logs: read.logs.map(lawful), leftOut: unknown + read.leftOut };
}

const mostFaults = 5;

function readLines(text: string): { readonly lines: readonly Line[]; readonly unknown: number } {
  const lines: Line[] = [];
  const faults: string[] = [];
  let unknown = 0;
  // By LF alone: other line ends of Unicode may stand in JSON.
  for (const [index, line] of text.split('\n').entries()) {
    if (line.trim() === '') continue;
    try {
      const read = readStreamPart(line);
      if (read.kind === 'part') lines.push({ number: index + 1, part: read.part });
      else unknown += 1;
    } catch (cause) {
      if (!(cause instanceof StreamPartError)) throw cause;
      faults.push(`line ${index + 1}: ${cause.message}`);
    }
  }
  if (faults.length === 0) return { lines, unknown };
  const more = faults.length > mostFaults ? [`and ${faults.length - mostFaults} more.`] : [];
  throw new RunFileError([...faults.slice(0, mostFaults), ...more].join('\n'));
}

function ownRuns(lines: readonly Line[]): RunsOfFile {
  const log = createPartsLog();
  const runs: RunEvent[][] = [];
  let last = 0;
  const take = (events: readonly RunEvent[]) => {
    for (const event of events) {
      if (event.type === 'run-started' && event.data.leg === 1) runs.push([]);
      const run = runs.at(-1);
      if (run === undefined) throw new RunFileError('It begins in the middle of a run: the beginning is missing.');
      run.push(withoutContents(event));
    }
  };
  try {
    for (const { number, part } of lines) {
      take(log.push(part));
      if (isOfLog(part)) last = number;
    }
    take(log.end());
  } catch (cause) {
    if (!(cause instanceof PartsLogError)) throw cause;
    throw new RunFileError(`line ${last}: ${cause.message}`, { cause });
  }
  return { logs: runs.map(ended), leftOut: 0 };
}

/**
 * I5. The bytes of files and long results are not in the file. A name of them would be one of what is here already, of whoever it is.
 */
function withoutContents(event: RunEvent): RunEvent {
  if (event.type === 'file-changed') {
    const { fileId: _fileId, ...data } = event.data;
    return { ...event, data };
  }
  if (event.type === 'tool-result') {
    const { spill: _spill, media: _media, ...data } = event.data;
    return { ...event, data };
  }
  if (event.type === 'user-message') return { ...event, data: { ...event.data, content: namesOf(event.data.content) } };
  if (event.type !== 'run-started') return event;
  const { input, task } = event.data;
  const said = input?.map((message) => ({ ...message, content: namesOf(message.content) }));
  const asked = task && { ...task, inputItems: keptItems(task.inputItems, new Map()) };
  return {
    ...event,
    data: {
      ...event.data,
      ...(said === undefined ? {} : { input: said }),
      ...(asked === undefined ? {} : { task: asked }),
    },
  };
}

function namesOf(content: readonly UserPart[]): readonly UserPart[] {
  return content.map((part): UserPart => {
    if (part.type === 'media') return { type: 'text', text: `[${part.filename ?? part.mediaType}]` };
    if (part.type === 'text') return part;
    const { path: _path, ...file } = part;
    return file;
  });
}

/** I3. */
function ended(log: readonly RunEvent[]): readonly RunEvent[] {
  const last = log.at(-1);
  if (last === undefined || endsLog(last)) return log;
  const { runId, sessionId, at } = last;
  const state = log.reduce(evolve, initialRunState(runId, sessionId));
  const { requested: model, limits, step } = state;
  // A run that waits writes nothing outside of a leg.
  const next: readonly EventDraft[] =
    state.result === null
      ? []
      : [{ type: 'run-started', data: { leg: state.leg + 1, cause: 'recovery', model, limits }, step, attempt: 0 }];
  const begun = applyDrafts(state, next, at);
  const message = 'The run had not ended when it was written to the file.';
  const error = { type: 'IncompleteStreamError', message, retryable: true } as const;
  const end = closeRun(begun, { status: 'failed', error }, at);
  const base = { v: 1, runId, sessionId, at, leg: begun.leg } as const;
  return [...log, ...[...next, ...end].map((draft, index) => ({ ...base, seq: last.seq + index + 1, ...draft }))];
}

function foreignRuns(lines: readonly Line[], o: { readonly text: string; readonly atMs: number }): RunsOfFile {
  const { text, atMs } = o;
  const digest = hash('sha256', text);
  const sessionId = sessionIds.make(digest.slice(0, 16));
  const logs: (readonly RunEvent[])[] = [];
  let leftOut = 0;
  let previousRunId: RunId | null = null;
  for (const [index, parts] of turnsOf(lines).entries()) {
    const runId = runIds.make(hash('sha256', `${digest}:${index}`).slice(0, 32));
    const task = factsOf(previousRunId, atMs);
    const { events, opaque } = logOfParts(parts, { runId, sessionId, atMs, label: 'imported', task });
    logs.push(events);
    leftOut += opaque.length;
    previousRunId = runId;
  }
  return { logs, leftOut };
}

/** Each `stream-start` begins one. */
function turnsOf(lines: readonly Line[]): readonly (readonly StreamPart[])[] {
  const turns: StreamPart[][] = [[]];
  for (const { part } of lines) {
    if (part.type === 'stream-start' && turns.at(-1)?.length !== 0) turns.push([]);
    turns.at(-1)?.push(part);
  }
  return turns;
}

function factsOf(previousResponseId: RunId | null, atMs: number): TaskFacts {
  return {
    harnessId: importedHarness,
    createdAt: Math.floor(atMs / 1_000),
    metadata: {},
    ignoredFields: [],
    store: true,
    background: false,
    previousResponseId,
    reinsEvents: false,
    view: 1,
    inputItems: [],
  };
}

/** I2. Numbers may have holes that retention has made. */
function lawful(log: readonly RunEvent[]): readonly RunEvent[] {
  const rising = log.every(({ seq }, index) => seq > (log[index - 1]?.seq ?? 0));
  const breaches = rising ? checkLog(log.map((event, index) => ({ ...event, seq: index + 1 }))) : ['L1: numbers fall.'];
  const [first] = breaches;
  if (first !== undefined) throw new RunFileError(`The log of ${log[0]?.runId ?? 'a run'} breaks a law: ${first}.`);
  return log;
}
