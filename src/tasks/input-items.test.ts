import { expect, test } from 'vitest';
import { keptItems, wholeItems } from './input-items.ts';
import { openSqlite } from '../stores/sqlite/open-sqlite.ts';
import { runIds } from '../core/ids.ts';
import type { JsonObject } from '../core/json.ts';
import type { Services } from './services.ts';

const bytes = new Uint8Array(30_000).map((_, index) => index);
const url = `data:image/png;base64,${Buffer.from(bytes).toString('base64')}`;
const itemsWith = (...content: JsonObject[]) => [
  { role: 'user', content: [{ type: 'input_text', text: 'x' }, ...content] },
];

test('U-211: large data stands beside the log, and is given back as it was sent', async () => {
  await using store = openSqlite(':memory:');
  const { ref } = await store.putContent(runIds.make('1'), bytes);
  const sent = itemsWith(
    { type: 'input_file', filename: 'a', file_data: url },
    { type: 'input_image', image_url: url },
    { type: 'input_file', filename: 'b', file_data: 'data:text/plain;base64,eA==' },
  );
  const refs = new Map([1, 2, 3].map((at) => [`input[0].content[${at}]`, ref]));
  const kept = keptItems(sent, refs);
  expect(JSON.stringify(kept).length).toBeLessThan(1_000);
  const services = { store } as unknown as Services;
  expect(await wholeItems(services, kept)).toEqual(sent);
  expect(await wholeItems(services, ['plain', { role: 'user', content: 'text' }])).toEqual([
    'plain',
    { role: 'user', content: 'text' },
  ]);
});

test('U-043: what a client calls by our own name reads nothing of anybody', async () => {
  await using store = openSqlite(':memory:');
  const { ref } = await store.putContent(runIds.make('1'), bytes);
  const foreign = { type: 'input_file', file_id: 'file_1', reins_content: { key: 'file_data', ref, prefix: '' } };
  const kept = keptItems(itemsWith(foreign), new Map());
  expect(kept).toEqual(itemsWith({ type: 'input_file', file_id: 'file_1' }));
});

test('UR-21: of what waits in a queue the items name the upload', () => {
  const refs = new Map([['input[0].content[1]', 'file:file_7']]);
  expect(keptItems(itemsWith({ type: 'input_file', filename: 'a', file_data: url }), refs)).toEqual(
    itemsWith({ type: 'input_file', filename: 'a', file_id: 'file_7' }),
  );
});
