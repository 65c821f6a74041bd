// The engine against each provider protocol: real HTTP on both sides, good replies and faulty ones.

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { answerOf, assembleOutput, textOf, type Body, type SeenFrame } from './support/event-stream.ts';
import { call, reply, say, text } from './support/model.ts';
import { finalOf, whole } from './support/uhp.ts';
import { providerKey, providers, startWith, type ProvidedServer } from './support/provider.ts';
import type { ReplyFault } from '../src/testing/model-servers/reply-script.ts';

/** One streamed task, with what holds of every stream. */
async function run(
  { uhp }: ProvidedServer,
  body: object = { input: 'go' },
): Promise<{ frames: readonly SeenFrame[]; final: Body }> {
  const frames = await whole(uhp.stream(body));
  const final = finalOf(frames);
  expect(frames.map(({ id }) => id)).toEqual(frames.map((_, index) => index));
  expect(assembleOutput(frames)).toEqual(final.output);
  expect((await uhp.get(final.id)).body).toEqual(final);
  const said = frames.map((frame) => frame.text).join('');
  expect(said).not.toContain('\ufffd');
  expect(said, 'U-420').not.toContain(providerKey);
  return { frames, final };
}

const kindsOf = ({ output }: Body) => output.map(({ type, status }) => `${type} ${status}`);
/** Items that the stream showed and the result no longer has (UD-22). */
const abandoned = (frames: readonly SeenFrame[], final: Body) =>
  frames.flatMap(({ event }) => {
    const { type, item, output_index: index } = event;
    if (type !== 'response.output_item.done' || item === undefined) return [];
    return final.output.some(({ id }) => id === item.id) ? [] : [{ index, item }];
  });

describe.each(providers)('$name', (provider) => {
  test('a whole turn: thinking, text, two calls at once, their results, the answer', async () => {
    const thinking = { kind: 'thinking', chunks: ['Let me ', 'see.'] } as const;
    const edit = { path: 'notes/ü.txt', content: 'a "quoted"\nline 🚀' };
    await using server = await startWith(provider, [
      reply(
        thinking,
        text('I will ', 'look.'),
        call('call_a', 'write_file', edit),
        call('call_b', 'list_files', { path: '.' }),
      ),
      say('All ', 'done.'),
      say('Yes.'),
    ]);
    const { final } = await run(server);
    expect(final).toMatchObject({ status: 'completed', model: provider.model });
    expect(kindsOf(final)).toEqual([
      'reasoning completed',
      'message completed',
      'function_call completed',
      'function_call completed',
      'function_call_output completed',
      'function_call_output completed',
      'message completed',
    ]);
    const [thought, , first, second, , , answer] = final.output;
    expect([thought, answer].map((item) => item && textOf(item))).toEqual(['Let me see.', 'All done.']);
    expect(first).toMatchObject({ name: 'write_file', call_id: 'call_a' });
    expect(JSON.parse(first?.arguments ?? '')).toEqual(edit);
    expect(second).toMatchObject({ name: 'list_files', call_id: 'call_b' });
    const results = final.output.filter(({ type }) => type === 'function_call_output');
    expect(new Set(results.map(({ call_id }) => call_id))).toEqual(new Set(['call_a', 'call_b']));
    const workspace = join(server.data, 'workspaces', final.metadata.session_id);
    expect(readFileSync(join(workspace, edit.path), 'utf8')).toBe(edit.content);
    expect(final.usage).toMatchObject({ input_tokens: 14, output_tokens: 20, total_tokens: 34 });
    expect(final.metadata).not.toHaveProperty('reins_usage_incomplete');
    // The provider read the results, and in the next task all that was before.
    const [, asked] = server.model.requests;
    for (const result of results)
      expect(JSON.stringify(asked?.body)).toContain(JSON.stringify(textOf(result)).slice(1, -1));
    const next = await server.uhp.create({ input: 'Sure?', previous_response_id: final.id });
    expect(answerOf(next.body)).toBe('Yes.');
    const conversation = JSON.stringify(server.model.requests[2]?.body);
    for (const part of ['go', 'I will look.', 'All done.', 'Sure?']) expect(conversation).toContain(part);
    if (provider.protocol === 'anthropic') expect(conversation, 'the signature of its thinking').toContain('c2lnbmVk');
  });

  test('a call that is wrong is answered, and the turn goes on', async () => {
    await using server = await startWith(provider, [
      reply(
        call('a', 'no_such_tool', {}),
        call('b', 'read_file', { path: 7 }),
        call('c', 'read_file', { path: 'missing.txt' }),
      ),
      say('Sorry.'),
    ]);
    const { final } = await run(server);
    expect(final.status).toBe('completed');
    const results = final.output.filter(({ type }) => type === 'function_call_output');
    expect(results.map(({ call_id, status }) => [call_id, status])).toEqual(
      ['a', 'b', 'c'].map((id) => [id, 'completed']),
    );
    expect(results.map(textOf)).toEqual(
      [/no_such_tool/, /path/, /missing\.txt/].map((part): unknown => expect.stringMatching(part)),
    );
  });

  test.each(['429', '500', '503', '529'])(
    'a refusal with %s is tried again after its wait, and answered once',
    async (code) => {
      const status = Number(code);
      const headers = { 'retry-after': '2' };
      await using server = await startWith(provider, [
        { fault: { kind: 'status', status, headers, message: 'busy' } },
        say('Here.'),
      ]);
      const startedMs = performance.now();
      const { final, frames } = await run(server);
      // Two seconds of a clock that runs twenty times as fast.
      expect(performance.now() - startedMs).toBeGreaterThanOrEqual(95);
      expect(kindsOf(final)).toEqual(['message completed']);
      expect(answerOf(final)).toBe('Here.');
      expect(abandoned(frames, final)).toEqual([]);
      expect(server.model.requests).toHaveLength(2);
    },
  );

  test('a refused credential fails the task at once, in a sentence that is safe to show', async () => {
    const message = 'Incorrect API key provided: sk-secret-canary';
    await using server = await startWith(provider, [
      { fault: { kind: 'status', status: 401, type: 'authentication_error', message } },
    ]);
    const { final, frames } = await run(server);
    expect(final).toMatchObject({
      status: 'failed',
      output: [],
      error: { type: 'harness_error', code: 'provider_error', param: null, detail: null },
    });
    expect(final.error?.message).toMatch(/^[^\n]{10,200}\.$/);
    expect(frames.map((frame) => frame.text).join('')).not.toContain('sk-secret-canary');
    expect(server.model.requests).toHaveLength(1);
  });

  test('a provider that never recovers is asked a bounded number of times', async () => {
    const busy = { fault: { kind: 'status', status: 503, message: 'busy' } } as const;
    await using server = await startWith(
      provider,
      Array.from({ length: 20 }, () => busy),
    );
    const { final } = await run(server);
    expect(final).toMatchObject({ status: 'failed', error: { code: 'provider_error' } });
    expect(server.model.requests).toHaveLength(4);
  });

  const chunks = Array.from({ length: 51 }, (_, n) => `${n} `);
  const said = chunks.join('');
  // Before anything, at once, after one delta, after fifty, and after the last one: right before the end.
  const places = ['nothing', 0, 1, 50, 51] as const;
  const faults: readonly Exclude<ReplyFault, { kind: 'status' }>[] = [
    ...places.map((after) => ({ kind: 'error-event', after }) as const),
    ...places.map((after) => ({ kind: 'cut', after }) as const),
    ...[0, 1, 50, 51].map((after) => ({ kind: 'no-end-mark', after }) as const),
  ];
  test.each(faults)(
    'B066, B068: a stream that breaks ($kind after $after deltas) shows its text once',
    async (fault) => {
      await using server = await startWith(provider, [{ ...say(...chunks), fault }, say(...chunks)]);
      const { final, frames } = await run(server);
      expect(kindsOf(final)).toEqual(['message completed']);
      expect(answerOf(final)).toBe(said);
      expect(server.model.requests).toHaveLength(2);
      const shown = fault.after === undefined || fault.after === 'nothing' ? 0 : fault.after;
      const given = abandoned(frames, final);
      expect(given.length).toBe(shown === 0 ? 0 : 1);
      for (const { index, item } of given) {
        expect({ index, status: item.status }).toEqual({ index: 0, status: 'incomplete' });
        expect(said.startsWith(textOf(item))).toBe(true);
      }
    },
  );

  test.each<[string, ReplyFault]>([
    ['cut in its arguments', { kind: 'cut', after: 1 }],
    ['without an end mark in its arguments', { kind: 'no-end-mark', after: 1 }],
    ['followed by an error', { kind: 'error-event', after: 2 }],
    ['whole, but in a reply that is cut before its end', { kind: 'cut', after: 2 }],
    ['whole, but in a reply without an end mark', { kind: 'no-end-mark' }],
  ])('B069: a call that is %s never runs; the second attempt runs with its own arguments', async (_, fault) => {
    const write = (content: string) => reply(call('w', 'write_file', { path: `${content}.txt`, content }));
    await using server = await startWith(provider, [{ ...write('first'), fault }, write('second'), say('Done.')]);
    const { final, frames } = await run(server);
    expect(kindsOf(final)).toEqual(['function_call completed', 'function_call_output completed', 'message completed']);
    expect(JSON.parse(final.output[0]?.arguments ?? '')).toEqual({ path: 'second.txt', content: 'second' });
    const workspace = join(server.data, 'workspaces', final.metadata.session_id);
    expect(existsSync(join(workspace, 'first.txt'))).toBe(false);
    expect(readFileSync(join(workspace, 'second.txt'), 'utf8')).toBe('second');
    for (const { index, item } of abandoned(frames, final)) expect([index, item.status]).toEqual([0, 'incomplete']);
    expect(frames.filter(({ event }) => event.type === 'response.function_call_arguments.done')).toHaveLength(1);
  });

  test.each([1, 2, 3, 7])(
    'B001, B079: characters and arguments cut at every byte (chunks of %i) come whole',
    async (every) => {
      const words = 'naïve Straße — 漢字 🚀👩‍👩‍👧';
      const input = { path: 'ключ.txt', content: `${words}\\u00e9 "q" \n` };
      await using server = await startWith(provider, [
        { ...reply(text(...words.split(/(?<= )/)), call('w', 'write_file', input)), bytes: { every } },
        { ...say(words), bytes: { every } },
      ]);
      const { final } = await run(server);
      expect(answerOf(final)).toBe(words + words);
      expect(JSON.parse(final.output[1]?.arguments ?? '')).toEqual(input);
      expect(readFileSync(join(server.data, 'workspaces', final.metadata.session_id, input.path), 'utf8')).toBe(
        input.content,
      );
    },
  );

  test("UD-83: a reply that a filter stops fails the task as the provider's doing", async () => {
    await using server = await startWith(provider, [{ ...say('I can'), finish: 'content-filter' }]);
    const { final } = await run(server);
    expect(final).toMatchObject({ status: 'failed', error: { code: 'provider_error' } });
    expect(answerOf(final)).toBe('I can');
  });

  test('UT-16, UD-23: an attempt that showed more items than the next leaves no half message behind', async () => {
    const cut = { kind: 'cut', after: 4 } as const;
    await using server = await startWith(provider, [
      { ...reply({ kind: 'thinking', chunks: ['Hm ', 'so.'] }, text('One ', 'two ', 'three')), fault: cut },
      say('Short.'),
    ]);
    const { final, frames } = await run(server);
    expect(answerOf(final)).toBe('Short.');
    expect(final.output.map(({ type }) => type)).toEqual(['message', 'reasoning']);
    expect(final.output[1]).toMatchObject({ status: 'incomplete', summary: [] });
    const types = new Set(frames.map(({ event }) => event.type));
    expect([...types].filter((type) => type.startsWith('reins.'))).toEqual([]);
  });
});

test('U-005: usage that the provider does not give is unknown, not zero', async () => {
  const provider = providers.find(({ prefix }) => prefix === 'OPENAI_COMPATIBLE');
  if (provider === undefined) throw new Error('no such provider');
  await using server = await startWith(provider, [{ pieces: [text('Hi.')] }]);
  const { final } = await run(server);
  expect(final).toMatchObject({ usage: null, metadata: { reins_usage_incomplete: true } });
});
