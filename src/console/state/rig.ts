// What tests of the page's state share: a page that is told things one after the other, and rows as short words.

import { countsOf } from './tool-card.ts';
import { initialState, type ConsoleState } from './state.ts';
import { reduce } from './reduce.ts';
import type { ActionBody } from './action.ts';
import type { Effect } from './effect.ts';
import type { Row } from './row.ts';
import type { TurnEvent } from './turn-event.ts';

export interface Rig {
  readonly state: ConsoleState;
  /** All so far. */
  readonly effects: readonly Effect[];
  /** The rows of the turns in short: `U`, `A"text"`, `K`, `T[a ok, b …]`, `S`, `E`. */
  readonly shown: readonly string[];
  do(...actions: readonly ActionBody[]): Rig;
  /** Events of the task `resp_1` (or of the simple mode), numbered on. */
  hear(...events: readonly TurnEvent[]): Rig;
  wait(ms: number): Rig;
}

export interface RigOptions {
  readonly transport?: 'task' | 'agent';
  readonly from?: ConsoleState;
}

export function createRig({ transport = 'task', from = initialState }: RigOptions = {}): Rig {
  const preferences = { ...initialState.preferences, transport };
  let [state, atMs, number] = [from, 1_000_000, 0];
  const effects: Effect[] = [];
  const rig: Rig = {
    get state() {
      return state;
    },
    effects,
    get shown() {
      return state.rows.map(short);
    },
    do(...actions) {
      for (const action of actions) {
        const reduced = reduce(state, { ...action, atMs });
        state = reduced.state;
        effects.push(...reduced.effects);
      }
      return rig;
    },
    hear(...events) {
      for (const event of events) {
        const origin = { kind: 'task', responseId: 'resp_1', number: number++ } as const;
        rig.do({
          type: 'received',
          turn: 'm1',
          from: transport === 'task' ? origin : { kind: 'agent' },
          events: [event],
        });
      }
      return rig;
    },
    wait(ms) {
      atMs += ms;
      return rig.do({ type: 'tick' });
    },
  };
  return rig.do({ type: 'booted', preferences, draft: {} });
}

/** A page on which `hi` was just sent, as turn `m1`. */
export function busyRig(options?: RigOptions): Rig {
  return createRig(options).do(
    { type: 'draft_changed', draft: 'hi' },
    { type: 'submit', id: 'm1' },
    { type: 'sent', turn: 'm1' },
  );
}

export function short(row: Row): string {
  switch (row.kind) {
    case 'user':
      return 'U';
    case 'assistant':
      return `A"${row.text}"`;
    case 'thinking':
      return 'K';
    case 'system':
      return 'S';
    case 'error':
      return 'E';
    case 'tool_run': {
      const marks = { running: '…', waiting: '?', ok: 'ok', failed: 'failed', stopped: 'stopped' } as const;
      return `T[${row.items.map(({ name, state }) => `${name} ${marks[state]}`).join(', ')}]`;
    }
  }
}

export const event = {
  start: (name: string, id: string | null = null, index: number | null = null): TurnEvent => ({
    type: 'tool_start',
    id,
    name,
    index,
  }),
  result: (name: string, id: string | null = null, ok = true): TurnEvent => ({
    type: 'tool_result',
    id,
    name,
    ok,
    summary: `${name} · ${ok ? '✓ ok' : '✗ failed'}`,
    preview: null,
  }),
  think: (text: string, index: number | null = null): TurnEvent => ({ type: 'reasoning_delta', text, index }),
  text: (text: string, index: number | null = null): TurnEvent => ({ type: 'text_delta', text, index }),
  reset: (index: number | null, kept = ''): TurnEvent => ({ type: 'attempt_reset', index, kept, retryInMs: null }),
  done: (text = ''): TurnEvent => ({
    type: 'ended',
    ending: { kind: 'finished' },
    text,
    spent: {},
    undelivered: [],
    cwd: null,
  }),
  fail: (detail = 'broken'): TurnEvent => ({
    type: 'ended',
    ending: { kind: 'error', detail },
    text: '',
    spent: {},
    undelivered: [],
    cwd: null,
  }),
};

/** Laws that every page keeps (C-015). */
export function breaches({ rows }: ConsoleState): readonly string[] {
  const ids = new Set(rows.map(({ id }) => id));
  const twice = ids.size === rows.length ? [] : ['two rows have one id'];
  const cards = rows.flatMap((row) => {
    if (row.kind !== 'tool_run') return [];
    const { total, ok, failed, pending, stopped } = countsOf(row);
    return total === row.items.length && ok + failed + pending + stopped === total && total > 0
      ? []
      : [`${row.id}: counts`];
  });
  return [...twice, ...cards];
}
