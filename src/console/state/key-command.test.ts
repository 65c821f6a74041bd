import { expect, test } from 'vitest';
import { busyRig, createRig } from './rig.ts';
import { followsEnd, goesToEnd, scrollFollow, type ScrollEvent } from './scroll-follow.ts';
import { keyCommand, type KeyPress } from './key-command.ts';
import { costText, spentText, usageText } from './usage.ts';

const press = (key: string, of: Partial<KeyPress> = {}): KeyPress => ({
  key,
  keyCode: 0,
  isComposing: false,
  shift: false,
  ctrl: false,
  meta: false,
  alt: false,
  ...of,
});

test('C-070: keys', () => {
  const [ready, busy] = [createRig().state, busyRig().state];
  const open = createRig().do({ type: 'overlay_opened', overlay: { kind: 'help' } }).state;
  const swapped = createRig().do({ type: 'preferences_changed', change: { enter: 'newline' } }).state;
  const typed = createRig().do({ type: 'draft_changed', draft: 'x' }).state;
  expect([
    keyCommand(press('Enter'), 'composer', ready),
    keyCommand(press('Enter', { shift: true }), 'composer', ready),
    keyCommand(press('Enter'), 'elsewhere', ready),
    keyCommand(press('Enter'), 'composer', swapped),
    keyCommand(press('Enter', { shift: true }), 'composer', swapped),
    keyCommand(press('Enter', { ctrl: true }), 'composer', swapped),
    keyCommand(press('Escape'), 'composer', busy),
    keyCommand(press('Escape'), 'elsewhere', busy),
    keyCommand(press('Escape'), 'composer', open),
    keyCommand(press('.', { meta: true }), 'elsewhere', busy),
    keyCommand(press('.', { meta: true }), 'elsewhere', ready),
    keyCommand(press('k', { ctrl: true }), 'elsewhere', ready),
    keyCommand(press('ArrowUp'), 'composer', ready),
    keyCommand(press('ArrowUp'), 'composer', typed),
  ]).toEqual([
    'send',
    null,
    null,
    null,
    'send',
    'send',
    'stop',
    null,
    'close-overlay',
    'stop',
    null,
    'search',
    'recall',
    null,
  ]);
});

test('C-071: no key acts while an input method composes', () => {
  for (const key of ['Enter', 'Escape', 'ArrowUp'])
    for (const of of [{ isComposing: true }, { keyCode: 229 }])
      expect(keyCommand(press(key, of), 'composer', busyRig().state)).toBeNull();
});

test('C-075: the end is followed from within 64 pixels, until a person scrolls up; growth moves nobody who did', () => {
  const after = (...events: readonly ScrollEvent[]) => events.reduce(scrollFollow, { ...followsEnd, top: 900 });
  const up: ScrollEvent = { type: 'scrolled', top: 880, toEnd: 20, byPerson: true };
  expect(goesToEnd(after(), 0)).toBe(true);
  expect(goesToEnd(after(up), 0)).toBe(false);
  expect(goesToEnd(after(up, { type: 'scrolled', top: 880, toEnd: 500, byPerson: false }), 0)).toBe(false);
  expect(goesToEnd(after(up, { type: 'scrolled', top: 890, toEnd: 65, byPerson: true }), 0)).toBe(false);
  expect(goesToEnd(after(up, { type: 'scrolled', top: 890, toEnd: 64, byPerson: true }), 0)).toBe(true);
  expect(goesToEnd(after(up, { type: 'follow_asked' }), 0)).toBe(true);
  expect(goesToEnd(after({ type: 'selection_changed', selecting: true }), 0)).toBe(false);
  const toggled = after({ type: 'expander_used', atMs: 1_000 });
  expect([goesToEnd(toggled, 1_199), goesToEnd(toggled, 1_200)]).toEqual([false, true]);
});

test('usage that nobody counted stays unknown', () => {
  expect([
    usageText({}),
    usageText({ reins_usage: { input_tokens: 12_340, output_tokens: 5 } }),
    usageText({ reins_usage: { output_tokens: 5 } }),
  ]).toEqual([null, '12,340 tokens in · 5 out', '5 tokens out']);
});

test('a cost is told as exactly as it is known, and not at all where no price is', () => {
  const of = (dollars: number, estimated = false) => costText({ reins_cost: { dollars, estimated } });
  expect([costText({}), of(0), of(0.000_02), of(0.0412), of(12.3, true)]).toEqual([
    null,
    '$0.00',
    'under $0.0001',
    '$0.0412',
    'about $12.30',
  ]);
  expect(spentText({ reins_usage: { output_tokens: 5 }, reins_cost: { dollars: 2, estimated: false } })).toBe(
    '5 tokens out · $2.00',
  );
});
