// B018, B057: the official `openai` client, pointed at the server, meets nothing that it does not know.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import OpenAI, { toFile } from 'openai';
import { call, reply, say, text, type Replies } from './support/model.ts';
import { key, until } from './support/uhp.ts';
import { isDelta } from './support/event-stream.ts';
import { startHeld, type HeldServer } from './support/held-server.ts';
import type { Response, ResponseStreamEvent } from 'openai/resources/responses/responses';

const thinking = { kind: 'thinking', chunks: ['Let me ', 'see.'] } as const;
const replies: Replies = {
  'use tools': [
    reply(
      thinking,
      text('I will ', 'look.'),
      call('a', 'list_files', {}),
      call('b', 'write_file', { path: 'x', content: 'y' }),
    ),
    say('There ', 'it is.'),
  ],
  fails: [{ fault: { kind: 'status', status: 400, message: 'no' } }],
};

let place: HeldServer;
let openai: OpenAI;
beforeAll(async () => {
  place = await startHeld(undefined, replies);
  openai = new OpenAI({ baseURL: `${place.url}/v1`, apiKey: key, maxRetries: 0 });
});
afterAll(() => place[Symbol.asyncDispose]());

/** What a typical page keeps of a stream. */
function collect(events: readonly ResponseStreamEvent[]) {
  const deltas = events.flatMap((event) => (event.type === 'response.output_text.delta' ? [event.delta] : []));
  const last = events.at(-1);
  return { text: deltas.join(''), last, numbers: events.map(({ sequence_number }) => sequence_number) };
}

describe('creating', () => {
  test('a plain answer has its text where the client looks for it', async () => {
    const response = await openai.responses.create({ input: 'hello' });
    expect(response).toMatchObject({ object: 'response', status: 'completed', model: 'openai-compatible/m' });
    expect(response.output_text).toBe('You said: hello');
    expect(response.usage?.total_tokens).toBe(17);
  });

  test('B018: a stream gives every lifecycle event, typed, and the numbers are without a hole', async () => {
    const events = await Array.fromAsync(await openai.responses.create({ input: 'use tools', stream: true }));
    const { text: said, last, numbers } = collect(events);
    expect(numbers).toEqual(numbers.map((_, index) => index));
    expect(said).toBe('I will look.There it is.');
    expect(last?.type).toBe('response.completed');
    const counted = Map.groupBy(events, ({ type }) => type);
    expect(counted.get('response.output_item.added')).toHaveLength(7);
    expect(counted.get('response.output_item.done')).toHaveLength(7);
    expect(
      counted
        .get('response.function_call_arguments.done')
        ?.map((event) => ('arguments' in event ? event.arguments : '')),
    ).toEqual(['{}', '{"path":"x","content":"y"}']);
    if (last?.type === 'response.completed') {
      expect(last.response.output.map(({ type }) => type)).toEqual([
        'reasoning',
        'message',
        'function_call',
        'function_call',
        'function_call_output',
        'function_call_output',
        'message',
      ]);
    }
  });

  test("the client's own accumulating stream ends with the response that is stored", async () => {
    const stream = openai.responses.stream({ input: 'use tools', model: 'openai-compatible/m' });
    let said = '';
    stream.on('response.output_text.delta', ({ delta }) => (said += delta));
    const final = await stream.finalResponse();
    expect(said).toBe('I will look.There it is.');
    expect(final.output_text).toBe(said);
    const stored = await openai.responses.retrieve(final.id);
    expect(stored.output.map(({ id }) => id)).toEqual(final.output.map(({ id }) => id));
  });

  test('a conversation goes on by previous_response_id', async () => {
    const first = await openai.responses.create({ input: 'one' });
    const second = await openai.responses.create({
      input: [{ role: 'user', content: 'two' }],
      previous_response_id: first.id,
    });
    expect(second.previous_response_id).toBe(first.id);
    expect(place.model.asked('two')[0]?.body['messages']).toHaveLength(3);
  });

  test('a failed task is a response with a code, no exception', async () => {
    const response = await openai.responses.create({ input: 'fails' });
    expect(response).toMatchObject({ status: 'failed', error: { code: 'provider_error' } });
    const events = await Array.fromAsync(await openai.responses.create({ input: 'fails', stream: true }));
    expect(events.at(-1)).toMatchObject({ type: 'response.failed', response: { status: 'failed' } });
  });
});

describe('files', () => {
  test('an upload by files.create is read by a task that names its file_id', async () => {
    const upload = await openai.files.create({
      file: await toFile(Buffer.from('the word is heron'), 'word.txt'),
      purpose: 'user_data',
    });
    expect(upload).toMatchObject({ object: 'file', filename: 'word.txt', bytes: 17 });
    const response = await openai.responses.create({
      input: [
        {
          role: 'user',
          content: [
            { type: 'input_text', text: 'read it' },
            { type: 'input_file', file_id: upload.id },
          ],
        },
      ],
    });
    expect(response.output_text).toContain('the word is heron');
    expect((await openai.responses.inputItems.list(response.id)).data).toMatchObject([
      { content: [{ type: 'input_text' }, { type: 'input_file', file_id: upload.id }] },
    ]);
  });

  test('an inline file needs no upload, and an unknown file_id is told as not found', async () => {
    const file_data = `data:text/plain;base64,${Buffer.from('inline words').toString('base64')}`;
    const ask = (file: object) =>
      openai.responses.create({
        input: [
          {
            role: 'user',
            content: [
              { type: 'input_text', text: 'look inside' },
              { type: 'input_file', ...file },
            ],
          },
        ],
      });
    expect((await ask({ filename: 'a.txt', file_data })).output_text).toContain('inline words');
    await expect(ask({ file_id: 'file_nosuch' })).rejects.toMatchObject({ status: 404, code: 'file_not_found' });
  });

  test('what a task has written is cited with a link, and downloads with the key', async () => {
    const { output } = await openai.responses.create({ input: 'use tools' });
    const [cited] = output
      .flatMap((item) => (item.type === 'message' ? item.content : []))
      .flatMap((part) => (part.type === 'output_text' ? part.annotations : []));
    if (cited?.type !== 'container_file_citation') throw new Error('Nothing is cited.');
    const content = await openai.containers.files.content.retrieve(cited.file_id, {
      container_id: cited.container_id,
    });
    expect(await content.text()).toBe('y');
  });
});

describe('in the background', () => {
  test('a task is started, asked for until it has ended, and continued', async () => {
    const begun = await openai.responses.create({ input: 'one', background: true });
    let found = begun;
    while (found.status === 'in_progress') found = await openai.responses.retrieve(begun.id);
    expect(found).toMatchObject({ id: begun.id, status: 'completed', output_text: 'You said: one' });
    const next = await openai.responses.create({ input: 'two more', previous_response_id: begun.id, stream: true });
    expect(collect(await Array.fromAsync(next)).text).toBe('You said: two more');
  });
});

describe('reading back', () => {
  let response: Response;
  beforeAll(async () => {
    response = await openai.responses.create({ input: 'use tools' });
  });

  test('retrieve gives the same object', async () => {
    expect(await openai.responses.retrieve(response.id)).toEqual(response);
  });

  test('B057: retrieve with stream and starting_after gives the events after it, of an ended and of a running task', async () => {
    const all = await Array.fromAsync(await openai.responses.retrieve(response.id, { stream: true }));
    const after = await Array.fromAsync(
      await openai.responses.retrieve(response.id, { stream: true, starting_after: 5 }),
    );
    expect(after).toEqual(all.slice(6));
    await using held = await startHeld();
    const client = new OpenAI({ baseURL: `${held.url}/v1`, apiKey: key });
    const running = await client.responses.create({ input: 'held', background: true });
    expect(running.status).toBe('in_progress');
    await until(await held.uhp.attach(running.id), isDelta);
    const stream = await client.responses.retrieve(running.id, { stream: true, starting_after: 1 });
    held.gate.open();
    const { text: said, numbers } = collect(await Array.fromAsync(stream));
    expect(numbers[0]).toBe(2);
    expect(said).toBe('first second');
  });

  test('the input is listed as items', async () => {
    const page = await openai.responses.inputItems.list(response.id);
    expect(page.data).toEqual([
      { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'use tools' }] },
    ]);
    const items = await Array.fromAsync(page);
    expect(items).toHaveLength(1);
  });

  test('cancel and delete', async () => {
    await using held = await startHeld();
    const client = new OpenAI({ baseURL: `${held.url}/v1`, apiKey: key });
    const running = await client.responses.create({ input: 'held', background: true });
    await until(await held.uhp.attach(running.id), isDelta);
    const cancelled = await client.responses.cancel(running.id);
    expect(cancelled).toMatchObject({ status: 'cancelled', output: [{ content: [{ text: 'first ' }] }] });
    await client.responses.delete(running.id);
    await expect(client.responses.retrieve(running.id)).rejects.toBeInstanceOf(OpenAI.NotFoundError);
  });

  test('the catalogue of models is not the list of OpenAI, and says nothing false', async () => {
    const models = (await openai.get('/models')) as { backends: object };
    expect(models.backends).toHaveProperty('native');
  });
});

describe('errors become its classes, with the code', () => {
  const rejects = async (promise: Promise<unknown>) => {
    const error: unknown = await promise.then(
      () => null,
      (cause: unknown) => cause,
    );
    if (!(error instanceof OpenAI.APIError)) throw new Error(`Not an error of the client: ${String(error)}`);
    return error;
  };

  test.each([
    [
      '401',
      () => new OpenAI({ baseURL: `${place.url}/v1`, apiKey: 'wrong', maxRetries: 0 }).responses.create({ input: 'x' }),
      [OpenAI.AuthenticationError, 'invalid_credential'],
    ],
    ['400', () => openai.responses.create({ input: [] }), [OpenAI.BadRequestError, 'invalid_input']],
    ['404', () => openai.responses.retrieve('resp_nosuch'), [OpenAI.NotFoundError, 'response_not_found']],
    [
      '404 of a stream',
      () => openai.responses.retrieve('resp_nosuch', { stream: true }),
      [OpenAI.NotFoundError, 'response_not_found'],
    ],
    [
      '422',
      () => openai.responses.create({ input: 'x', model: 'nothing' }),
      [OpenAI.UnprocessableEntityError, 'model_unavailable'],
    ],
  ] as const)('%s', async (_, ask, [expected, code]) => {
    const error = await rejects(ask());
    expect(error).toBeInstanceOf(expected);
    expect(error.code).toBe(code);
    expect(error.message).toMatch(/\w+ \w+/);
  });

  test('409', async () => {
    await using held = await startHeld();
    const client = new OpenAI({ baseURL: `${held.url}/v1`, apiKey: key, maxRetries: 0 });
    const running = await client.responses.create({ input: 'held', background: true });
    const error = await rejects(client.responses.create({ input: 'x', previous_response_id: running.id }));
    expect(error).toBeInstanceOf(OpenAI.ConflictError);
    expect(error.code).toBe('session_busy');
  });
});
