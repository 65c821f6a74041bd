import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  cardText,
  completeItem,
  countsOf,
  finishedItem,
  maxDetailBytes,
  newCard,
  startedItem,
  withItem,
} from './tool-card.ts';
import { cutToBytes, utf8Bytes } from './utf8.ts';
import { decodeCard, encodeCard, maxCardBytes } from './stored-card.ts';
import { fromSnapshot, maxSnapshotBytes, toSnapshot } from './snapshot.ts';
import type { Row, ToolItem } from './row.ts';

const outcome = { id: null, name: 'read', ok: true, summary: 'read · ✓ ok', preview: null };

test('C-021: the brief is the summary in one line of at most 64 characters; a preview that repeats it is no detail', () => {
  const item = finishedItem({ ...outcome, summary: `a\n  ${'b'.repeat(80)}` }, 0, 1_000);
  expect(item.brief).toBe(`a ${'b'.repeat(61)}…`);
  expect(finishedItem({ ...outcome, preview: outcome.summary }, 0, 1_000).detail).toBeNull();
  expect(finishedItem({ ...outcome, preview: 'the file' }, 0, 1_000).detail).toBe('the file');
  expect(finishedItem({ ...outcome, name: 'n'.repeat(200) }, 0, 0).name).toHaveLength(128);
});

test('C-023, C-095: the cap of the details counts bytes, not characters', () => {
  const { detail } = finishedItem({ ...outcome, preview: '漢'.repeat(229_376) }, 0, maxDetailBytes);
  expect(utf8Bytes(detail ?? '')).toBeLessThanOrEqual(maxDetailBytes);
  expect(utf8Bytes(detail ?? '')).toBeGreaterThan(maxDetailBytes - 4);
  expect(detail?.endsWith('漢…')).toBe(true);
});

test('C-022: later details of a card give way to earlier ones', () => {
  const big = 'x'.repeat(200_000);
  let card = newCard(finishedItem({ ...outcome, preview: big }, 0, maxDetailBytes), 0);
  for (let more = 0; more < 2; more++)
    card = withItem(card, finishedItem({ ...outcome, preview: big }, 0, maxDetailBytes - card.detailBytes), 0);
  expect(card.items.map(({ detail }) => detail?.length ?? 0)).toEqual([200_000, 29_376 - 2, 0]);
  expect(card.detailBytes).toBe(maxDetailBytes);
});

test('C-020: a call tells what it was made with, before its result and after; both count as the card’s', () => {
  const input = '{"command":"npm  test"}';
  const started = startedItem({ id: 'c1', name: 'bash', input }, 0, maxDetailBytes);
  expect(started).toMatchObject({ asked: 'npm test', input, detail: null });
  const card = newCard(started, 0);
  expect(card.detailBytes).toBe(input.length);
  const done = completeItem(card, 0, { ...outcome, id: 'c1', name: 'bash', preview: 'line\nline', atMs: 1 });
  expect(done).toMatchObject({ items: [{ asked: 'npm test', input, detail: 'line\nline', state: 'ok' }] });
  expect(done.detailBytes).toBe(input.length + 9);
  expect(cardText(done)).toBe('read · ✓ ok\nnpm test\nline\nline');
  const large = startedItem(
    { id: 'c2', name: 'write', input: `{"path":"a","content":"${'é'.repeat(99_999)}"}` },
    0,
    1e6,
  );
  expect([large.asked, utf8Bytes(large.input ?? '') <= 65_536]).toEqual(['a', true]);
  expect(startedItem({ id: null, name: 'list', input: '{}' }, 0, 1).input).toBeNull();
});

test('bytes are those of UTF-8, and a cut never parts a pair', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.nat(40), (text, bytes) => {
      expect(utf8Bytes(text)).toBe(new TextEncoder().encode(text).length);
      const cut = cutToBytes(text, bytes);
      expect(utf8Bytes(cut)).toBeLessThanOrEqual(bytes);
      expect(text.startsWith(cut) && cut.isWellFormed()).toBe(true);
    }),
  );
});

const anyItem: fc.Arbitrary<ToolItem> = fc.record({
  id: fc.option(fc.string()),
  name: fc.string({ minLength: 1, maxLength: 128 }),
  state: fc.constantFrom('ok', 'failed', 'stopped', 'running', 'waiting'),
  brief: fc.string({ maxLength: 64 }),
  // A card that is kept is of the simple mode, which tells no arguments.
  asked: fc.constant(''),
  input: fc.constant(null),
  detail: fc.option(fc.string({ minLength: 1 })),
  index: fc.constant(-1),
});

test('C-022: a stored card is read as it was written', () => {
  fc.assert(
    fc.property(fc.array(anyItem), (items) => {
      expect(encodeCard(items).flatMap((text) => decodeCard(text) ?? [])).toEqual(items);
    }),
  );
  for (const text of ['', '{}', '{"v":2,"items":[]}', '{"v":1,"items":[{"name":"a"}]}', 'null'])
    expect(decodeCard(text)).toBeNull();
});

test('C-022: however large a card is, each stored text keeps to its cap and no call is lost', () => {
  const item = (detail: string | null, brief = 'b'.repeat(64)): ToolItem => ({
    id: null,
    name: 'n'.repeat(128),
    state: 'ok',
    brief,
    asked: '',
    input: null,
    detail,
    index: -1,
  });
  const cards = [
    Array.from({ length: 400 }, () => item('"\n'.repeat(400))),
    Array.from({ length: 1_200 }, () => item(null)),
    Array.from({ length: 9_000 }, () => item('x'.repeat(40))),
  ];
  for (const items of cards) {
    const texts = encodeCard(items);
    expect(Math.max(...texts.map(utf8Bytes))).toBeLessThanOrEqual(maxCardBytes);
    expect(countsOf({ items: texts.flatMap((text) => decodeCard(text) ?? []) })).toEqual(countsOf({ items }));
  }
  expect(encodeCard(cards[0] ?? [])).toHaveLength(1);
  expect(encodeCard(cards[2] ?? []).length).toBeGreaterThan(1);
});

test('C-035: a snapshot keeps all but thinking, and lets the oldest go above 2 MiB', () => {
  const base = { turn: 't', place: 0 };
  const text = { text: 'hm', marks: [], bytes: 2 };
  const card = (id: string): Row => ({
    ...base,
    id,
    kind: 'tool_run',
    items: [{ ...finishedItem(outcome, -1, 0) }],
    detailBytes: 0,
    startedMs: 0,
    changedMs: 0,
  });
  const rows: readonly Row[] = [
    { ...base, id: '0', kind: 'user', text: 'hi' },
    card('1'),
    { ...base, id: '2', kind: 'thinking', ...text },
    card('3'),
    { ...base, id: '4', kind: 'assistant', ...text },
    { ...base, id: '5', kind: 'system', text: 'Turn ended · model finished' },
  ];
  const restored = fromSnapshot(toSnapshot(rows));
  expect(restored.map(({ kind }) => kind)).toEqual(['user', 'tool_run', 'assistant', 'system']);
  expect(restored[1]).toMatchObject({ items: [{ name: 'read' }, { name: 'read' }] });
  const many = Array.from({ length: 20 }, (_, at): Row => ({
    ...base,
    id: `${at}`,
    kind: 'user',
    text: `${at} ${'é'.repeat(100_000)}`,
  }));
  const snapshot = toSnapshot(many);
  expect(utf8Bytes(snapshot)).toBeLessThanOrEqual(maxSnapshotBytes);
  expect(fromSnapshot(snapshot).at(-1)).toMatchObject({ kind: 'user', text: expect.stringMatching(/^19 /) });
  expect(fromSnapshot(snapshot)).toHaveLength(10);
  expect([fromSnapshot('{'), fromSnapshot('[1,{"kind":"user"}]')]).toEqual([[], []]);
});
