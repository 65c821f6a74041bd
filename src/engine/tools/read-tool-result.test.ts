import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createReadToolResult } from './read-tool-result.ts';
import { toolContext } from '../../testing/tool-context.ts';
import type { JsonObject } from '../../core/json.ts';

const note =
  /\n\[Characters (\d+) to (\d+) of (\d+)\. (?:This is the end\.|(\d+) are left; go on with offset (\d+)\.)\]$/;

async function read(text: string, input: JsonObject) {
  const tool = createReadToolResult(async (id) => (id === 'call_1' ? text : null));
  const { content, isError = false } = await tool.run({ id: 'call_1', ...input }, toolContext());
  const found = note.exec(content);
  return {
    content,
    isError,
    page: content.replace(note, ''),
    next: found?.[5] === undefined ? null : Number(found[5]),
  };
}

test('E-550, E-551: pages fall between code points, and following the notes gives the whole text', async () => {
  const text = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 40 });
  await fc.assert(
    fc.asyncProperty(text, fc.integer({ min: 1, max: 9 }), async (whole, limit) => {
      let joined = '';
      for (let offset: number | null = 0; offset !== null;) {
        const { page, next } = await read(whole, { offset, limit });
        expect(page.isWellFormed() && page.length > 0 && page.length <= Math.max(limit, 2)).toBe(true);
        joined += page;
        offset = next;
      }
      expect(joined).toBe(whole);
    }),
  );
});

test('E-551: an offset inside a pair begins with the pair', async () => {
  expect((await read('a😀b', { offset: 2, limit: 2 })).content).toBe(
    '😀\n[Characters 1 to 3 of 4. 1 are left; go on with offset 3.]',
  );
});

test('E-550: a page has 8,000 characters, and an answer never more than 12,000 however many are asked for', async () => {
  const text = 'x'.repeat(1_000_000);
  expect((await read(text, {})).page).toHaveLength(8000);
  const { page, content } = await read(text, { offset: 900_000, limit: 99_999 });
  expect(page.length).toBeGreaterThan(11_000);
  expect(content.length).toBeLessThanOrEqual(12_000);
});

test('E-514: an unknown id, an offset past the end and wrong arguments are answers', async () => {
  for (const input of [{ id: 'other' }, { offset: 4 }, { offset: -1 }, { limit: 'all' }, { id: 7 }])
    expect(await read('text', input)).toMatchObject({ isError: true });
  expect(await read('', {})).toMatchObject({ isError: false, page: '' });
});
