import { expect, test } from 'vitest';
import { choicesOf, chosenText } from './choices.ts';
import { initialState, type ConsoleState } from '../state/state.ts';

const model = (id: string, available: boolean) => ({
  id,
  label: id.toUpperCase(),
  backend: 'x',
  available,
  default: false,
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
  expect(models.map(({ value, mark, why }) => [value, mark, why === null])).toEqual([
    ['a', null, true],
    ['b-thinking', 'reasoning', false],
    ['c-non-reasoning', null, true],
  ]);
  expect(harnesses.map(({ why }) => why)).toEqual(['Not now: this server has no model for it.', null, null]);
});

test('a session stays with its harness, unless the next message begins a new one', () => {
  const open = { session: { kind: 'open', id: 's', title: '', tip: null } } as const;
  const whys = (given: ConsoleState) => choicesOf(given).harnesses.map(({ why }) => why === null);
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
