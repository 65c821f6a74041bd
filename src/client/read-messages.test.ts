import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createManualClock } from '../testing/manual-clock.ts';
import { readMessages } from './read-messages.ts';

const clock = createManualClock();
const encoder = new TextEncoder();

async function read(...chunks: readonly Uint8Array[]): Promise<readonly string[]> {
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk);
      controller.close();
    },
  });
  const found: string[] = [];
  for await (const data of readMessages(body, { clock, ms: 45_000 })) found.push(data);
  return found;
}

/** At every offset, with an empty chunk between. */
async function readCut(text: string): Promise<readonly (readonly string[])[]> {
  const bytes = encoder.encode(text);
  const cuts = Array.from({ length: bytes.length + 1 }, (_, at) =>
    read(bytes.subarray(0, at), new Uint8Array(), bytes.subarray(at)),
  );
  return Promise.all([...cuts, read(...Array.from(bytes, (byte) => Uint8Array.of(byte)))]);
}

describe('U-442: one stream gives the same messages', () => {
  test.each([
    ['LF', '\n'],
    ['CR', '\r'],
    ['CRLF', '\r\n'],
  ])('B005: %s as the end of lines, cut at every byte', async (_, end) => {
    const text = ['data: a', '', ': comment', 'id: 3', 'data: b', 'data: c', '', 'data: d', '', ''].join(end);
    for (const found of await readCut(text)) expect(found).toEqual(['a', 'b\nc', 'd']);
  });

  test('B001: characters of two to four bytes, cut at every byte', async () => {
    for (const found of await readCut('data: é€😀\n\ndata: ÿ\n\n')) expect(found).toEqual(['é€😀', 'ÿ']);
  });

  test('B006: one leading byte order mark goes, in however many pieces; another one stays', async () => {
    for (const found of await readCut('\uFEFFdata: \uFEFFx\n\n')) expect(found).toEqual(['\uFEFFx']);
    expect(await read(new Uint8Array(), encoder.encode('\uFEFF\uFEFFdata: x\n\ndata: y\n\n'))).toEqual(['y']);
  });

  test('B008: blank lines of data are lines; one space is taken off', async () => {
    expect(await read(encoder.encode('data: a\ndata:\ndata: b\n\ndata\n\ndata:  x\n\n'))).toEqual(['a\n\nb', '', ' x']);
  });

  test('a last message without its blank line, and without the end of its line', async () => {
    for (const end of ['', '\n', '\r', '\r\n']) expect(await read(encoder.encode(`data: x${end}`))).toEqual(['x']);
  });

  test('mixed ends of lines in any pieces', async () => {
    const lineEnd = fc.constantFrom('\n', '\r', '\r\n');
    const message = fc.tuple(fc.stringMatching(/^[^\r\n]*$/u), lineEnd, lineEnd);
    await fc.assert(
      fc.asyncProperty(
        fc.array(message),
        fc.infiniteStream(fc.integer({ min: 1, max: 7 })),
        async (messages, sizes) => {
          // A CR before a LF would be one end of a line, not two.
          const text = messages
            .map(([data, a, b]) => `data: ${data}${a}${a === '\r' && b === '\n' ? '\r' : b}`)
            .join('');
          const bytes = encoder.encode(text);
          const chunks: Uint8Array[] = [];
          for (let at = 0; at < bytes.length;) {
            const size = sizes.next().value;
            chunks.push(bytes.subarray(at, at + size));
            at += size;
          }
          expect(await read(...chunks)).toEqual(
            messages.map(([data]) => new TextDecoder().decode(encoder.encode(data))),
          );
        },
      ),
    );
  });
});

test('time passes only while a message is waited for, and no timer is left', async () => {
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  const body = new ReadableStream<Uint8Array>({ start: (given) => void (controller = given) });
  const messages = readMessages(body, { clock, ms: 45_000 });
  controller?.enqueue(encoder.encode('data: a\n\n'));
  expect((await messages.next()).value).toBe('a');
  await clock.advance(100_000);
  const next = messages.next();
  await clock.advance(44_000);
  controller?.enqueue(encoder.encode(': alive\n\n'));
  await clock.advance(44_000);
  controller?.enqueue(encoder.encode('data: b\n\n'));
  expect((await next).value).toBe('b');
  const dead = messages.next().catch((error: unknown) => error);
  await clock.advance(45_001);
  expect(await dead).toMatchObject({ name: 'TimeoutError', code: 'timed_out' });
  expect(clock.pending).toBe(0);
});
