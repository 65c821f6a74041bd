import { expect, test } from 'vitest';
import { createFactQueue } from './fact-queue.ts';
import { createManualClock } from '../../testing/manual-clock.ts';
import { systemClock } from '../../system.ts';
import type { NativeFact } from './native-fact.ts';

const text = (key: string, piece: string): NativeFact => ({ is: 'text', key, text: piece });

test('P-076: pieces of one text are joined while nobody takes them, and order is kept', async () => {
  const queue = createFactQueue(systemClock);
  const running: NativeFact = { is: 'call-input', id: 'c', piece: '{' };
  for (const fact of [
    text('a', 'x'),
    text('a', 'y'),
    running,
    { ...running, piece: '}' },
    text('a', 'z'),
    text('b', '!'),
  ])
    void queue.put(fact);
  expect(await queue.take()).toEqual([text('a', 'xy'), { ...running, piece: '{}' }, text('a', 'z'), text('b', '!')]);
});

test('a taker that came first is given what comes; after the end what is left, and then nothing for ever', async () => {
  const queue = createFactQueue(systemClock);
  const coming = queue.take();
  void queue.put(text('a', 'x'));
  expect(await coming).toEqual([text('a', 'x')]);
  void queue.put(text('a', 'y'));
  queue.close();
  expect([await queue.take(), await queue.take(), await queue.take()]).toEqual([[text('a', 'y')], [], []]);
});

test('H-110: a sign that the connection lives wakes nobody, and is known nevertheless', async () => {
  const clock = createManualClock();
  const queue = createFactQueue(clock);
  const coming = queue.take();
  await clock.advance(5);
  void queue.put({ is: 'alive' });
  void queue.put({ is: 'unknown', kind: 'beat' });
  expect(queue.heardAtMs).toBe(clock.now());
  void queue.put({ is: 'progress' });
  expect(await coming).toEqual([{ is: 'progress' }]);
});

test('it is full by number or by size, and has room for an end nevertheless', async () => {
  const [few, small] = [
    createFactQueue(systemClock, { facts: 2, units: 100 }),
    createFactQueue(systemClock, { facts: 100, units: 5 }),
  ];
  for (const queue of [few, small]) for (const key of ['a', 'b']) void queue.put(text(key, 'xyz'));
  expect([few.isFull, small.isFull]).toEqual([true, true]);
  void few.put({ is: 'ended', end: { as: 'interrupted' } });
  expect(await few.take()).toHaveLength(3);
  expect(few.isFull).toBe(false);
});

test('H-122, P-076: whatever is said in whole weighs what it is long, and progress that is joined nothing', () => {
  const queueOf = () => createFactQueue(systemClock, { facts: 100, units: 1_000 });
  const long = 'x'.repeat(1_000);
  const call = { id: 'c', name: 'write', input: { content: long } };
  const wholes: readonly NativeFact[] = [
    { is: 'text-whole', key: 'a', text: long },
    { is: 'thinking-whole', key: 'a', text: long },
    { is: 'call-whole', call },
    { is: 'call-running', call },
    { is: 'gate', request: 'r', call },
    { is: 'question', request: 'r', call, questions: [] },
    { is: 'call-ended', id: 'c', outcome: 'ok', content: long },
    { is: 'engine-said', text: long, purpose: 'p' },
    { is: 'todos', todos: [{ content: long, status: 'pending' }] },
  ];
  for (const fact of wholes) {
    const queue = queueOf();
    void queue.put(fact);
    expect([fact.is, queue.isFull]).toEqual([fact.is, true]);
  }
  const quiet = queueOf();
  for (let beat = 0; beat < 5_000; beat++) void quiet.put({ is: 'progress' });
  expect(quiet.isFull).toBe(false);
});
