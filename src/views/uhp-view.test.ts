import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { RunEvent } from '../core/run-event.ts';
import { isTerminal, type UhpEvent } from '../protocol/uhp/events.ts';
import type { OutputItem, UhpResponse } from '../protocol/uhp/response.ts';
import { arbitraryLog } from '../testing/arbitrary-log.ts';
import { testRunId as runId, testSessionId as sessionId } from '../testing/log-builder.ts';
import { createUhpView } from './uhp-view.ts';
import { createLogBuilder } from '../testing/log-builder.ts';
import { limitsOfPrices } from '../core/cost.ts';

function viewOf(log: readonly RunEvent[], reinsEvents = false): { events: UhpEvent[]; response: UhpResponse } {
  const view = createUhpView({ runId, sessionId, reinsEvents, emit: true });
  return { events: log.flatMap((event) => view.push(event)), response: view.response() };
}

function responseOf(log: readonly RunEvent[]): UhpResponse {
  const view = createUhpView({ runId, sessionId, reinsEvents: false, emit: false });
  for (const event of log) expect(view.push(event)).toEqual([]);
  return view.response();
}

/** What a client holds that assembles by `output_index` from added shells and deltas alone (U-444). */
function assemble(events: readonly UhpEvent[]): OutputItem[] {
  const items: OutputItem[] = [];
  const texts = new Map<string, string>();
  for (const event of events) {
    if (event.type === 'response.output_item.added') items[event.output_index] = event.item;
    if ('delta' in event) texts.set(event.item_id, (texts.get(event.item_id) ?? '') + event.delta);
    if (event.type !== 'response.output_item.done') continue;
    const shell = items[event.output_index];
    const text = texts.get(event.item.id) ?? '';
    expect(shell?.id).toBe(event.item.id);
    items[event.output_index] = withText(event.item, text);
  }
  return items;
}

function withText(item: OutputItem, text: string): OutputItem {
  switch (item.type) {
    case 'message':
      return { ...item, content: [{ type: 'output_text', text, annotations: [] }] };
    case 'reasoning':
      return item.summary.length === 0 ? item : { ...item, summary: [{ type: 'summary_text', text }] };
    case 'function_call':
      return { ...item, arguments: text };
    case 'function_call_output':
      return item;
  }
}

/** Holds for every log. */
function always(name: string, law: (log: readonly RunEvent[]) => void): void {
  test(name, () => {
    fc.assert(fc.property(arbitraryLog, (log) => law(log)));
  });
}

always('U-315, UD-20, B020: streamed, assembled, stored and plain output are the same', (log) => {
  const { events, response } = viewOf(log);
  const last = events.at(-1);
  expect(last !== undefined && 'response' in last ? last.response : null).toEqual(response);
  expect(assemble(events)).toEqual(response.output);
  expect(responseOf(log)).toEqual(response);
});

always('U-302: numbers are 0, 1, 2 …, with and without our own events', (log) => {
  for (const reinsEvents of [false, true]) {
    const { events } = viewOf(log, reinsEvents);
    expect(events.map((event) => event.sequence_number)).toEqual(events.map((_, index) => index));
  }
});

always('U-310: response.created is first, response.in_progress second, one terminal event last', (log) => {
  const { events } = viewOf(log);
  expect(events.slice(0, 2).map(({ type }) => type)).toEqual(['response.created', 'response.in_progress']);
  expect(events.filter(isTerminal)).toEqual(events.slice(-1));
});

always('U-306, U-311: events of an item come in the order of its kind, added first and done last', (log) => {
  const orders = [
    /^added part (delta )*textDone partDone done $/,
    /^added part (delta )*partDone done $/,
    /^added (delta )*(argumentsDone )?done $/,
    /^added done $/,
  ];
  const short: Partial<Record<UhpEvent['type'], string>> = {
    'response.output_item.added': 'added ',
    'response.content_part.added': 'part ',
    'response.reasoning_summary_part.added': 'part ',
    'response.output_text.delta': 'delta ',
    'response.reasoning_summary_text.delta': 'delta ',
    'response.function_call_arguments.delta': 'delta ',
    'response.output_text.done': 'textDone ',
    'response.content_part.done': 'partDone ',
    'response.reasoning_summary_part.done': 'partDone ',
    'response.function_call_arguments.done': 'argumentsDone ',
    'response.output_item.done': 'done ',
  };
  const byItem = new Map<string, string>();
  for (const event of viewOf(log).events) {
    const id = 'item' in event ? event.item.id : 'item_id' in event ? event.item_id : null;
    if (id !== null) byItem.set(id, (byItem.get(id) ?? '') + (short[event.type] ?? event.type));
  }
  for (const [id, order] of byItem) {
    const kind = id.startsWith('msg')
      ? 0
      : id.startsWith('fc_')
        ? 2
        : id.startsWith('fco') || id.includes('_x')
          ? 3
          : 1;
    expect(order).toMatch(orders[kind] ?? /never/);
  }
});

always('UD-22, UD-23: at the end no item is open, and complete messages hold accepted text only', (log) => {
  const { output, status } = viewOf(log).response;
  expect(output.map((item) => item.status)).not.toContain('in_progress');
  const whole = output.flatMap((item) => (item.type === 'message' && item.status === 'completed' ? item.content : []));
  const accepted = log.flatMap((event) => (event.type === 'text-complete' ? [event.data] : [])).join('');
  const shown = whole.map((part) => part.text).join('');
  expect(accepted.slice(0, shown.length)).toBe(shown);
  if (status === 'completed') expect(shown).toBe(accepted);
});

always('UD-81: item ids and call ids are unique, and every output has its call before it', (log) => {
  const { output } = viewOf(log).response;
  expect(new Set(output.map((item) => item.id)).size).toBe(output.length);
  const calls = output.flatMap((item) => (item.type === 'function_call' ? [item.call_id] : []));
  expect(new Set(calls).size).toBe(calls.length);
  for (const [index, item] of output.entries()) {
    if (item.type !== 'function_call_output') continue;
    const before = output
      .slice(0, index)
      .find((other) => other.type === 'function_call' && other.call_id === item.call_id);
    expect(before?.status).toBe('completed');
  }
});

test('E-948: the view of a prefix is a prefix of the view', () => {
  fc.assert(
    fc.property(arbitraryLog, fc.nat(80), fc.boolean(), (log, count, reinsEvents) => {
      const part = viewOf(log.slice(0, Math.max(1, count)), reinsEvents).events;
      const whole = viewOf(log, reinsEvents).events;
      expect(whole.slice(0, part.length)).toEqual(part);
    }),
  );
});

test('E-141: merging adjacent deltas changes nothing in the response', () => {
  fc.assert(
    fc.property(arbitraryLog, (log) => {
      expect(viewOf(mergeDeltas(log)).response).toEqual(viewOf(log).response);
    }),
  );
});

function mergeDeltas(log: readonly RunEvent[]): RunEvent[] {
  const merged: RunEvent[] = [];
  for (const event of log) {
    const before = merged.at(-1);
    const same = before?.step === event.step && before.attempt === event.attempt && before.block === event.block;
    if (same && event.type === 'text-delta' && before.type === 'text-delta') {
      merged[merged.length - 1] = { ...before, data: before.data + event.data };
    } else if (same && event.type === 'thinking-delta' && before.type === 'thinking-delta') {
      merged[merged.length - 1] = { ...before, data: before.data + event.data };
    } else {
      merged.push(event);
    }
  }
  return merged;
}

const textsOf = ({ output }: UhpResponse) => output.map((item) => JSON.stringify({ ...item, id: '' })).toSorted();

test('E-845: a pruned log gives the same texts', () => {
  fc.assert(
    fc.property(arbitraryLog, (log) => {
      const accepted = new Set(log.flatMap((e) => (e.type === 'turn-complete' ? [`${e.step}:${e.attempt}`] : [])));
      const live = new Set(['text-delta', 'thinking-delta', 'tool-call-delta']);
      const pruned = log.filter((e) => !(live.has(e.type) && accepted.has(`${e.step}:${e.attempt}`)));
      expect(textsOf(viewOf(pruned).response)).toEqual(textsOf(viewOf(log).response));
    }),
  );
});

test('V5: events in any order, doubled or missing, never throw and never break the numbering', () => {
  fc.assert(
    fc.property(arbitraryLog, fc.array(fc.nat(200), { maxLength: 60 }), (log, picks) => {
      const shuffled = [...log.slice(0, 1), ...picks.flatMap((pick) => log[pick % log.length] ?? [])];
      const { events } = viewOf(shuffled, true);
      expect(events.map((event) => event.sequence_number)).toEqual(events.map((_, index) => index));
      expect(events.filter(isTerminal).length).toBeLessThanOrEqual(1);
    }),
  );
});

test('UD-48: a cost is told by the price of the model that was asked for, and is an estimate once another one stepped in', () => {
  const told = (prices: Parameters<typeof limitsOfPrices>[0], failover = false) => {
    const log = createLogBuilder();
    log.start();
    const [asked, other] = ['m', 'n'].map((model) => ({ provider: 'openai', model }));
    if (failover && asked !== undefined && other !== undefined)
      log.add({
        type: 'model-switched',
        step: 1,
        attempt: 1,
        data: { kind: 'failover', from: asked, to: other, reason: 'It was down.' },
      });
    log.step({ blocks: [{ kind: 'text', pieces: ['Hi'] }] });
    log.end({ status: 'completed', stopReason: 'end-turn' });
    const events = log.events.map((event): RunEvent => {
      if (event.type === 'run-started')
        return { ...event, data: { ...event.data, limits: { ...event.data.limits, ...limitsOfPrices(prices) } } };
      if (event.type !== 'run-result') return event;
      return { ...event, data: { ...event.data, cost: { dollars: 2, estimated: false } } };
    });
    return responseOf(events).metadata['reins_cost'];
  };
  expect(told(null)).toBeUndefined();
  expect(told({ input: 1, output: 2 })).toEqual({ dollars: 2, estimated: false });
  expect(told({ input: 1, output: 2 }, true)).toEqual({ dollars: 2, estimated: true });
});
