import { createManualClock } from '../../testing/manual-clock.ts';
import { expect, test } from 'vitest';
import { createActionLoop } from './action-loop.ts';
import { initialState } from '../state/state.ts';
import type { Effect } from '../state/effect.ts';

function createRig(perform: (effect: Effect) => void = () => {}) {
  const frames: (() => void)[] = [];
  const loop = createActionLoop({ clock: createManualClock(), onFrame: (callback) => frames.push(callback) }, perform);
  let told = 0;
  loop.subscribe(() => told++);
  loop.dispatch({ type: 'booted', preferences: initialState.preferences, draft: {} });
  const draw = () => frames.splice(0).forEach((frame) => frame());
  draw();
  return { loop, frames, draw, told: () => told };
}

test('C-064: what is heard is told once per picture, what a person does at once', () => {
  const { loop, frames, draw, told } = createRig();
  const before = told();
  for (let at = 0; at < 500; at++) loop.dispatch({ type: 'tick' });
  loop.dispatch({ type: 'network_changed', network: 'offline' });
  expect([told(), frames.length]).toEqual([before, 1]);
  draw();
  expect(told()).toBe(before + 1);
  loop.dispatch({ type: 'draft_changed', draft: 'a' });
  expect(told()).toBe(before + 2);
  draw();
  expect(told()).toBe(before + 2);
});

test('A1: an action that an effect tells is taken after all effects of the one before it', () => {
  const order: string[] = [];
  const { loop } = createRig((effect) => {
    order.push(effect.type);
    if (effect.type === 'send') loop.dispatch({ type: 'sent', turn: effect.turn });
    if (effect.type === 'follow') order.push(loop.getState().phase.name);
  });
  order.length = 0;
  loop.dispatch({ type: 'draft_changed', draft: 'hi' });
  loop.dispatch({ type: 'submit', id: 'm1' });
  expect(order.filter((each) => each !== 'saveDraft')).toEqual(['send', 'follow', 'busy', 'announce']);
  expect(loop.getState().phase).toMatchObject({ turn: { request: { kind: 'sent' } } });
});
