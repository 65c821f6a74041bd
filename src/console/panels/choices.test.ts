import { expect, test } from 'vitest';
import { choicesOf, chosenText } from './choices.ts';
import { initialState, type ConsoleState } from '../state/state.ts';

const why = 'Set X_API_KEY to use it.';
const model = (id: string, available: boolean) => ({
  id,
  label: id.toUpperCase(),
  backend: 'x',
  available,
  default: false,
  ...(available ? {} : { reins_why: why }),
});
const harness = (id: string, base: string, facts: object = {}) => ({ id, name: id, base, baseLabel: base, ...facts });

const state = (facts: Partial<ConsoleState> = {}) =>
  ({
    ...initialState,
    catalogue: {
      steering: false,
      models: {
        backends: {
          native: {
            default: 'a',
            models: [model('a', true), model('b-thinking', false), model('c-non-reasoning', true)],
          },
          codex: { default: 'd', models: [model('d', false)] },
        },
        reins_not_installed: [{ base: 'pi', label: 'Pi', why: 'Pi is not installed: npm install' }],
      },
      harnesses: [harness('h1', 'codex'), harness('h2', 'native'), harness('h3', 'native', { defaultModel: 'c' })],
    },
    ...facts,
  }) as unknown as ConsoleState;

test('C-047: the first harness that has a model is chosen, with its own default', () => {
  const { harness: chosen, model: its } = choicesOf(state());
  expect([chosen, its]).toEqual(['h2', 'a']);
  expect(choicesOf(state({ composer: { ...initialState.composer, harness: 'h3' } })).model).toBe('c');
});

test('C-047: what cannot be had is shown with the reason; what reasons is marked', () => {
  const { models, harnesses } = choicesOf(state());
  expect(models.map((each) => [each.value, each.mark, each.why])).toEqual([
    ['a', null, null],
    ['b-thinking', 'reasoning', why],
    ['c-non-reasoning', null, null],
  ]);
  expect(harnesses.map((each) => [each.label, each.why])).toEqual([
    ['h1', why],
    ['h2', null],
    ['h3', null],
    ['Pi', 'Pi is not installed: npm install'],
  ]);
});

test('a session stays with its harness, unless the next message begins a new one', () => {
  const open = { session: { kind: 'open', id: 's', title: '', tip: null, paused: 'no' } } as const;
  const whys = (given: ConsoleState) =>
    choicesOf(given)
      .harnesses.slice(0, 3)
      .map((each) => each.why === null);
  const composer = { ...initialState.composer, harness: 'h2' };
  const sessions = {
    ...initialState.sessions,
    items: [{ id: 's', harness_id: 'h3' }],
  } as unknown as ConsoleState['sessions'];
  expect(choicesOf(state({ ...open, composer, sessions })).harness).toBe('h3');
  expect(whys(state({ ...open, composer }))).toEqual([false, true, false]);
  expect(whys(state({ ...open, composer: { ...composer, fork: { kind: 'start' } } }))).toEqual([false, true, true]);
});

test('the button names what is chosen, and the harness where there is a choice', () => {
  expect(chosenText(choicesOf(state()))).toBe('A · h2');
  expect(chosenText(choicesOf(initialState))).toBe('');
});
