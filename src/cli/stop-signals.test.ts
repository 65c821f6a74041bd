import { expect, test } from 'vitest';
import { createStopSignals } from './stop-signals.ts';

function scene() {
  const exits: number[] = [];
  let nowMs = 0;
  const stop = createStopSignals({ exit: (code) => exits.push(code), nowMs: () => nowMs });
  const receiveAt = (ms: number, name: 'SIGINT' | 'SIGTERM') => {
    nowMs = ms;
    stop.receive(name);
  };
  return { exits, signal: stop.signal, receiveAt };
}

test('the first signal asks for an orderly end and exits nothing', () => {
  const { exits, signal, receiveAt } = scene();
  expect(signal.aborted).toBe(false);
  receiveAt(5, 'SIGINT');
  expect(signal.aborted).toBe(true);
  expect(exits).toEqual([]);
});

test('a second signal ends the process at once, with the code of that signal', () => {
  const { exits, receiveAt } = scene();
  receiveAt(5, 'SIGTERM');
  receiveAt(105, 'SIGINT');
  expect(exits).toEqual([130]);
});

test('one Ctrl-C that came by the terminal and by the starting process is one', () => {
  const { exits, receiveAt } = scene();
  receiveAt(5, 'SIGINT');
  receiveAt(5, 'SIGINT');
  receiveAt(104, 'SIGINT');
  expect(exits).toEqual([]);
});
