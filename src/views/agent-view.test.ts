// The agent view by its vectors and its laws. What goes over a socket: `test/agent-endpoint`.

import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { arbitraryLog } from '../testing/arbitrary-log.ts';
import { createAgentView, type AgentViewOptions } from './agent-view.ts';
import { head } from '../core/text.ts';
import { createLogBuilder, type BlockScript, type LogBuilder } from '../testing/log-builder.ts';
import type { AgentEvent } from '../protocol/agent/events.ts';
import type { EventDraft, RunEvent } from '../core/run-event.ts';

const plain: AgentViewOptions = { secrets: [], cwd: '.', errorId: 'resp_1' };
const completed = { status: 'completed', stopReason: 'end-turn' } as const;
const text = (...pieces: string[]): BlockScript => ({ kind: 'text', pieces });
const call = (id: string, content: string, outcome: 'ok' | 'error' | 'denied' = 'ok'): BlockScript => ({
  kind: 'call',
  id,
  pieces: ['{}'],
  outcome,
  content,
});

function show(events: readonly (EventDraft | RunEvent)[], options: Partial<AgentViewOptions> = {}): AgentEvent[] {
  const view = createAgentView({ ...plain, ...options });
  return events.flatMap((event) => view.push(event));
}

function begun(): LogBuilder {
  const log = createLogBuilder();
  log.start();
  return log;
}

/** What somebody sees who draws the events as they come. */
function seenText(events: readonly AgentEvent[]): string {
  let [before, since] = ['', ''];
  for (const event of events) {
    if (event.type === 'text_delta') since += event.text;
    if (event.type === 'attempt_reset') since = event.kept;
    if (event.type === 'tool_start' || event.type === 'tool_result') [before, since] = [before + since, ''];
  }
  return before + since;
}

const isLast = ({ type }: AgentEvent) => type === 'done' || type === 'error';

test('A-020, A-023: text, thinking and tools in the order of the model; `done` holds all answer text, trimmed', () => {
  const log = begun();
  log.step({ blocks: [{ kind: 'thinking', pieces: ['hm'] }, text(' Let me ', 'look. '), call('c', 'one\ntwo')] });
  log.step({ blocks: [text('It is two.\n')] });
  log.end(completed);
  const result = { name: 'tool', ok: true, summary: 'tool · ✓ ok · 2 lines · 7 B · one' };
  expect(show(log.events)).toEqual([
    { type: 'reasoning_delta', text: 'hm' },
    { type: 'text_delta', text: ' Let me ' },
    { type: 'text_delta', text: 'look. ' },
    { type: 'tool_start', name: 'tool', id: 'c' },
    { type: 'tool_result', ...result, preview: 'one\ntwo', id: 'c' },
    { type: 'text_delta', text: 'It is two.\n' },
    { type: 'done', text: 'Let me look. It is two.', toolTrace: [result] },
  ]);
});

test('A-020: what a given-up attempt showed is void, but for the text of replies that were accepted before', () => {
  const log = begun();
  log.step({ blocks: [text('One, ')], finishReason: 'max-tokens' });
  const lost = { blocks: [text('lost')], shown: 1, reason: 'stalled' } as const;
  log.step({ abandoned: [lost], blocks: [text('two.')] });
  log.end(completed);
  const told = show(log.events);
  expect(told.find(({ type }) => type === 'attempt_reset')).toEqual({
    type: 'attempt_reset',
    attempt: 1,
    kept: 'One, ',
  });
  expect(told.at(-1)).toEqual({ type: 'done', text: 'One, two.' });
});

test('A-022: a call that nobody answered gets its result before `done`; a result without a beginning gets one', () => {
  const log = begun();
  const at = { step: 1, attempt: 1 } as const;
  const start = { id: 'c', name: '', input: null, executionKey: 'k', willRun: true };
  log.add({ ...at, type: 'tool-call-start', data: start });
  log.add({ ...at, type: 'tool-result', data: { toolCallId: 'd', name: 'late', content: '', isError: false } });
  log.step({ blocks: [text('Done.')] });
  const done = begun();
  done.step({ blocks: [text('Done.')] });
  done.end(completed);
  const ending = done.events.at(-1);
  if (ending === undefined) throw new Error('The log has no end.');
  const told = show([...log.events, ending]).filter(({ type }) => type.startsWith('tool_') || type === 'done');
  expect(told.map((event) => [event.type, 'id' in event ? event.id : null])).toEqual([
    ['tool_start', 'c'],
    ['tool_start', 'd'],
    ['tool_result', 'd'],
    ['tool_result', 'c'],
    ['done', null],
  ]);
  expect(told.at(-1)).toMatchObject({
    toolTrace: [
      { name: 'tool', ok: false, summary: 'tool · ✗ failed' },
      { name: 'late', ok: true },
    ],
  });
});

test('A-020: a call without an id has none on the wire', () => {
  const log = begun();
  log.step({ blocks: [call('', 'x')] });
  expect(show(log.events).some((event) => 'id' in event)).toBe(false);
});

test('A-024: two hundred and five calls are two hundred and five lines', () => {
  const log = begun();
  for (let step = 0; step < 41; step++)
    log.step({ blocks: Array.from({ length: 5 }, (_, n) => call(`c${n}`, 'x'.repeat(400), n === 4 ? 'error' : 'ok')) });
  log.step({ blocks: [text('Done.')] });
  log.end(completed);
  const last = show(log.events).at(-1);
  if (last?.type !== 'done') throw new Error('It has not succeeded.');
  expect(last.toolTrace).toHaveLength(205);
  expect(last.toolTrace?.filter(({ ok }) => !ok)).toHaveLength(41);
  expect(last.toolTrace?.some((line) => 'preview' in line)).toBe(false);
});

test('A-016: the directory is told only where a file or command tool ran', () => {
  const turn = (name: string, willRun: boolean) => {
    const log = begun();
    const at = { step: 1, attempt: 1 } as const;
    const start = { id: 'c', name, input: { path: 'a' }, executionKey: 'k', willRun };
    log.add({ ...at, type: 'tool-call-start', data: start });
    const data = { id: 'c', executionKey: 'k', toolAttempt: 1, argsDigest: 'd', replay: 'safe', timeoutMs: 1 } as const;
    if (willRun) log.add({ ...at, type: 'tool-dispatched', data: { ...data, authority: 'policy' } });
    log.add({ ...at, type: 'tool-result', data: { toolCallId: 'c', name, content: 'x', isError: false } });
    log.step({ blocks: [text('Done.')] });
    log.end(completed);
    const last = show(log.events, { cwd: 'src' }).at(-1);
    return last?.type === 'done' ? last.cwd : null;
  };
  expect(['read_file', 'bash', 'Read', 'applyPatch'].map((name) => turn(name, true))).toEqual([
    'src',
    'src',
    'src',
    'src',
  ]);
  expect([turn('fetch_url', true), turn('clock__tell', true), turn('bash', false)]).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
});

test('A-052: the preview is of the whole result, where the log has only its head and tail', () => {
  const log = begun();
  log.step({ blocks: [call('c', 'short')] });
  const view = createAgentView({ ...plain, secrets: ['sk-secret'] });
  const whole = `first sk-secret\n${'x\n'.repeat(99)}last`;
  const told = log.events.flatMap((event) => view.push(event, event.type === 'tool-result' ? whole : undefined));
  expect(told.find(({ type }) => type === 'tool_result')).toMatchObject({
    summary: expect.stringContaining('101 lines'),
    preview: expect.stringMatching(/^first \[redacted\]\n[^]*\n… \(51 more lines\)\n[^]*\nlast$/),
  });
});

test('A-050: what is blank has no preview and no bits', () => {
  const log = begun();
  log.step({ blocks: [call('c', ' \n\t')] });
  expect(show(log.events).at(-1)).toEqual({
    type: 'tool_result',
    name: 'tool',
    ok: true,
    summary: 'tool · ✓ ok',
    id: 'c',
  });
});

test('A-050: a structure that a tool gave back is told as its text', () => {
  const log = begun();
  log.step({ blocks: [call('c', JSON.stringify({ content: [{ type: 'text', text: 'a\nb' }], isError: false }))] });
  expect(show(log.events).at(-1)).toMatchObject({ summary: 'tool · ✓ ok · 2 lines · 3 B · a', preview: 'a\nb' });
});

test('A-051: how a call ended is said by who ran it: words in its text change nothing', () => {
  for (const content of ['ERROR: this is what the file says', 'TIMED_OUT', ' error']) {
    const log = begun();
    log.step({ blocks: [call('c', content)] });
    expect(show(log.events).at(-1)).toMatchObject({ ok: true });
  }
});

test('A-033: summaries say nothing of where the workspace lies', () => {
  const log = begun();
  const at = { step: 1, attempt: 1 } as const;
  const input = { file_path: '/data/ann/src/a.txt' };
  log.add({
    ...at,
    type: 'tool-call-start',
    data: { id: 'c', name: 'Read', input, executionKey: 'k', willRun: true },
  });
  const data = { toolCallId: 'c', name: 'Read', content: 'No /data/ann/src/a.txt here.', isError: true };
  log.add({ ...at, type: 'tool-result', data });
  log.add({ ...at, type: 'tool-call-start', data: { id: 'd', name: 'Read', input, executionKey: 'l', willRun: true } });
  log.add({ ...at, type: 'tool-result', data: { ...data, toolCallId: 'd', content: 'x', isError: false } });
  const told = show(log.events, { cwd: 'src', workspace: '/data/ann' });
  expect(told.flatMap((event) => (event.type === 'tool_result' ? [event.summary] : []))).toEqual([
    'Read · ✗ failed · No a.txt here.',
    'Read · ✓ ok · a.txt · 1 lines · 1 B',
  ]);
});

test('A-021: what comes after the last word is not told, and a view that is told to end does so once', () => {
  const log = begun();
  log.step({ blocks: [text('x')] });
  const view = createAgentView(plain);
  for (const event of log.events) view.push(event);
  expect(view.end('cancelled')).toEqual([{ type: 'error', error: 'Request cancelled.', status: 499 }]);
  expect(view.end('fault')).toEqual([]);
  log.end(completed);
  expect(log.events.flatMap((event) => view.push(event))).toEqual([]);
});

test('A-026: no text at all is a failure', () => {
  const log = begun();
  log.step({ blocks: [text(' \n')] });
  log.end(completed);
  expect(show(log.events).at(-1)).toEqual({ type: 'error', error: 'Empty model response.', status: 502 });
});

const secret = 'sk-live-"1234"';
const forms = [secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret), btoa(secret)];

test('A-042, A-043: no secret leaves in any field, wherever it is cut over deltas', () => {
  for (const form of forms)
    for (let at = 0; at <= form.length; at++) {
      const log = begun();
      const pieces = [`a ${form.slice(0, at)}`, `${form.slice(at)} b`].filter((piece) => piece !== '');
      log.step({ blocks: [{ kind: 'thinking', pieces }, { kind: 'text', pieces }, call('c', `x\n${form}`, 'error')] });
      log.add({
        step: 2,
        attempt: 1,
        type: 'tool-result',
        data: { toolCallId: 'd', name: `tool ${form}`, content: form, isError: false },
      });
      log.step({ blocks: [{ kind: 'text', pieces }] });
      log.end(completed);
      const told = JSON.stringify(show(log.events, { secrets: [secret] }));
      for (const each of forms) expect(told).not.toContain(JSON.stringify(each).slice(1, -1));
      expect(told).toContain('[redacted]');
    }
});

test('A-021, A-022: of any log one event is terminal, the last; each result has its beginning', () => {
  fc.assert(
    fc.property(arbitraryLog, (log) => {
      const told = show(log);
      expect(told.filter(isLast)).toEqual(told.slice(-1));
      const open = new Set<string>();
      for (const event of told) {
        if (event.type === 'tool_start') open.add(event.id ?? '');
        if (event.type === 'tool_result') expect(open.delete(event.id ?? '')).toBe(true);
      }
      expect(open.size).toBe(0);
      expect(told.some((event) => 'text' in event && event.type !== 'done' && event.text === '')).toBe(false);
    }),
  );
});

test('A-023: whoever draws the events as they come has read what `done` says', () => {
  fc.assert(
    fc.property(arbitraryLog, (log) => {
      const told = show(log);
      const last = told.at(-1);
      if (last?.type === 'done') expect(seenText(told).trim()).toBe(last.text);
    }),
  );
});

test('A-044: the same with secrets among the words', () => {
  fc.assert(
    fc.property(arbitraryLog, fc.integer({ min: 1, max: 30 }), (log, length) => {
      // Whatever stands in the first reply is a secret here; one that spans replies would be cut by a flush.
      const first = log.find((event) => event.type === 'text-complete');
      const found = first?.type === 'text-complete' ? head(first.data, length) : '';
      if (found.length < 4) return;
      const told = show(log, { secrets: [found] });
      const texts = told.map((event) => ('text' in event ? event.text : '')).join('\n');
      expect(texts.replaceAll('[redacted]', '')).not.toContain(found);
    }),
  );
});

test('E-948: the view of a prefix is a prefix of the view', () => {
  fc.assert(
    fc.property(arbitraryLog, fc.nat(40), (log, count) => {
      const part = show(log.slice(0, count));
      expect(show(log).slice(0, part.length)).toEqual(part);
    }),
  );
});
