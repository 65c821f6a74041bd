import { createRecordedModel, type RecordedModel, type RecordedModelOptions } from './recorded-model.ts';
import { readRunFile } from '../read-run-file.ts';
import type { RunEvent } from '../core/run-event.ts';

/** Runs of a file of stream parts, as `reins export` or another SDK writes it. */
export interface Recording {
  /** Their logs, in the order of the file. */
  readonly logs: readonly (readonly RunEvent[])[];
  /** All of them through a view, event by event: what it gave then, or would have given. */
  replay<T>(view: { push(event: RunEvent): readonly T[] }): readonly T[];
  /** The model as it was then, for a run that says and does the same. One for each time that it is played. */
  model(options?: RecordedModelOptions): RecordedModel;
}

/** @throws RunFileError  A line is no part, or a log breaks the laws. */
export function readRecording(text: string): Recording {
  const { logs } = readRunFile(text, 0);
  return {
    logs,
    replay: (view) => logs.flatMap((log) => log.flatMap((event) => view.push(event))),
    model: (options) => createRecordedModel(logs, options),
  };
}
