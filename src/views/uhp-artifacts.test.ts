import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { arbitraryLog } from '../testing/arbitrary-log.ts';
import { createLogBuilder, testRunId as runId, testSessionId as sessionId, testTask } from '../testing/log-builder.ts';
import { createUhpView } from './uhp-view.ts';
import { fileIds } from '../core/ids.ts';
import type { Annotation, UhpResponse } from '../protocol/uhp/response.ts';
import type { EventDraft, RunEvent } from '../core/run-event.ts';
import type { BlockScript, Ending } from '../testing/log-builder.ts';
import type { UhpEvent } from '../protocol/uhp/events.ts';

const done: Ending = { status: 'completed', stopReason: 'end-turn' };

function changed(path: string, o: { kind?: 'create' | 'modify' | 'delete'; found?: boolean } = {}): EventDraft {
  const { kind = 'create', found = true } = o;
  const file = found ? { fileId: fileIds.make(`of${path.length}`), sha256: 'ab' } : {};
  return { type: 'file-changed', step: 1, attempt: 0, data: { kind, path, bytes: 1, ...file } };
}

/** The log with files that were found after its run. */
function withFiles(log: readonly RunEvent[], drafts: readonly EventDraft[]): readonly RunEvent[] {
  const builder = createLogBuilder(log.slice(0, -1));
  for (const draft of drafts) builder.add(draft);
  const last = log.at(-1);
  if (last !== undefined) builder.add(last);
  return builder.events;
}

function viewOf(log: readonly RunEvent[], reinsEvents = false): { events: UhpEvent[]; response: UhpResponse } {
  const view = createUhpView({ runId, sessionId, reinsEvents, emit: true });
  return { events: log.flatMap((event) => view.push(event)), response: view.response() };
}

function logOf(blocks: readonly BlockScript[], drafts: readonly EventDraft[], ending = done): readonly RunEvent[] {
  const log = createLogBuilder();
  log.start({ ...testTask, linkBase: 'https://reins.example' });
  log.step({ blocks });
  log.end(ending);
  return withFiles(log.events, drafts);
}

const said = (...pieces: string[]): BlockScript => ({ kind: 'text', pieces });

function citedIn({ output }: UhpResponse): readonly (readonly Annotation[])[] {
  return output.flatMap((item) => (item.type === 'message' ? item.content.map((part) => part.annotations) : []));
}

describe('UD-54: annotations', () => {
  test.each([
    ['Wrote a/notes.txt.', 'a/notes.txt', 'a/notes.txt'],
    ['Wrote notes.txt, notes.txt.', 'a/notes.txt', 'notes.txt'],
    ['🦊 Ä notes.txt', 'notes.txt', 'notes.txt'],
    ['All done 🦊', 'notes.txt', 'All done 🦊'],
  ])('%s cites %s as %s', (text, path, cited) => {
    const [[annotation] = []] = citedIn(viewOf(logOf([said(text)], [changed(path)])).response);
    expect(text.slice(annotation?.start_index, annotation?.end_index)).toBe(cited);
    expect(annotation?.start_index).toBe(text.indexOf(cited));
    const container = annotation?.container_id ?? '';
    expect(annotation).toMatchObject({
      type: 'container_file_citation',
      filename: path,
      download_url: `https://reins.example/v1/containers/${container}/files/${annotation?.file_id}/content`,
    });
  });

  test('they are on the last message alone, and told before its part is done', () => {
    const { events, response } = viewOf(logOf([said('One.'), said('Two.')], [changed('a'), changed('bb')]));
    expect(citedIn(response).map((each) => each.length)).toEqual([0, 2]);
    const types = events.map(({ type }) => type.replace('response.', '')).slice(-7);
    const added = 'output_text.annotation.added';
    expect(types).toEqual([
      'output_item.done',
      'output_text.done',
      added,
      added,
      'content_part.done',
      'output_item.done',
      'completed',
    ]);
  });

  test('a last round without text gets a message that says nothing; a task that ends without one cites nothing', () => {
    const silent = viewOf(logOf([{ kind: 'thinking', pieces: ['Hm.'] }], [changed('a')]));
    expect(silent.response.output.at(-1)).toMatchObject({
      type: 'message',
      status: 'completed',
      content: [{ text: '', annotations: [{ start_index: 0, end_index: 0 }] }],
    });
    const call: BlockScript = { kind: 'call', id: 'c', pieces: ['{}'], outcome: 'ok', content: 'x' };
    const ending: Ending = { status: 'completed', stopReason: 'max-steps', budget: 'tool-rounds' };
    expect(citedIn(viewOf(logOf([said('Now.'), call], [changed('a')], ending)).response)).toEqual([[]]);
  });

  test('what was removed, and what only a tool told of, is not cited', () => {
    const drafts = [changed('a', { kind: 'delete' }), changed('b', { found: false })];
    expect(citedIn(viewOf(logOf([said('Done.')], drafts)).response)).toEqual([[]]);
  });
});

test('UD-82: a change that a tool has told is not told again; another one is', () => {
  const told = (...drafts: EventDraft[]) =>
    viewOf(logOf([said('Done.')], drafts), true).events.filter(({ type }) => type === 'reins.file_changed').length;
  const byTool = changed('a', { found: false });
  expect(told(byTool, changed('a'))).toBe(1);
  expect(told(byTool, byTool)).toBe(2);
  expect(told(changed('a'))).toBe(1);
  expect(told(byTool, changed('a', { kind: 'delete' }))).toBe(2);
});

const files = fc.array(
  fc.record({
    path: fc.constantFrom('a', 'b/c', 'ä🦊'),
    kind: fc.constantFrom('create', 'modify', 'delete'),
    found: fc.boolean(),
  }),
  { maxLength: 4 },
);

test('V2, V3, U-302: with files, too, every event is numbered in turn and the stored response is the last event’s', () => {
  fc.assert(
    fc.property(arbitraryLog, files, fc.boolean(), (bare, changes, reinsEvents) => {
      const log = withFiles(
        bare,
        changes.map(({ path, ...o }) => changed(path, o)),
      );
      const { events, response } = viewOf(log, reinsEvents);
      expect(events.map((event) => event.sequence_number)).toEqual(events.map((_, index) => index));
      const last = events.at(-1);
      expect(last !== undefined && 'response' in last ? last.response : null).toEqual(response);
      const cited = citedIn(response);
      expect(cited.slice(0, -1).flat()).toEqual([]);
      const added = events.flatMap((event) =>
        event.type === 'response.output_text.annotation.added' ? [event.annotation] : [],
      );
      expect(added).toEqual(cited.flat());
      const silent = createUhpView({ runId, sessionId, reinsEvents, emit: false });
      for (const event of log) silent.push(event);
      expect(silent.response()).toEqual(response);
      expect(silent.sequence).toBe(events.length);
    }),
  );
});
