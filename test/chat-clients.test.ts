// P-120: the AI SDK's own client, in each version that we serve, against a real server.

import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { call, reply, say, text, type Replies } from './support/model.ts';
import {
  chatCall,
  stored,
  textOf,
  toolsOf,
  toolStates,
  versions,
  type Chat,
  type ChatOptions,
} from './support/chat.ts';
import { eventually, readFor, startAsking, type AskingServer } from './support/asking-server.ts';

const write = (id: string, path: string) => call(id, 'write_file', { path, content: 'made' });
const question = call('q', 'ask_user_questions', {
  questions: [{ id: 'c', question: 'Which?', options: ['red', 'blue'] }],
});
let breaks = 0;
const replies: Replies = {
  list: [reply(text('Looking. '), call('l', 'list_files', {})), say('There.')],
  write: [reply(text('Writing. '), write('w', 'made.txt')), say('Done.')],
  both: [reply(write('a', 'a.txt'), write('b', 'b.txt')), say('Done.')],
  ask: [reply(question), say('So be it.')],
  /** Breaks off at every other request. */
  get breaks() {
    return breaks++ % 2 === 0
      ? [{ ...say('It is gr'), fault: { kind: 'cut', after: 1 } as const }]
      : [say('It is blue.')];
  },
  fails: [{ fault: { kind: 'status', status: 400 } }],
};

// A hang is a failure.
vi.setConfig({ testTimeout: 5_000 });

let place: AskingServer;
let chats = 0;
beforeAll(async () => {
  place = await startAsking({ replies });
});
afterAll(() => place[Symbol.asyncDispose]());

describe.each(versions)('$name', ({ open, chunks }) => {
  const begin = (options: Partial<ChatOptions> = {}): Chat =>
    open({ url: place.uhp.url, id: `chat-${chunks}-${chats++}`, ...options });
  const ready = (chat: Chat) =>
    eventually(() => (chat.status === 'ready' || chat.status === 'error' ? true : undefined), 4_500);
  const approvalOf = (chat: Chat, id: string) => {
    const part = toolsOf(chat.messages.at(-1)).find(({ toolCallId }) => toolCallId === id);
    return part?.approval?.id ?? '';
  };
  const answer = async (chat: Chat, id: string, approved: boolean, reason?: string) => {
    await chat.addToolApprovalResponse({
      id: approvalOf(chat, id),
      approved,
      ...(reason === undefined ? {} : { reason }),
    });
    await new Promise((resolve) => setTimeout(resolve, 0));
    await ready(chat);
  };
  const readByModel = (input: string) =>
    readFor(place, input).flatMap(({ role, content }) => (role === 'tool' ? [content] : []));

  test('an answer, one message over several steps, and what the server keeps is what the client made', async () => {
    const chat = begin();
    await chat.sendMessage({ text: 'list' });
    expect(chat.error).toBeUndefined();
    expect(chat.messages).toHaveLength(2);
    expect(textOf(chat.messages.at(-1))).toBe('Looking. There.');
    expect(toolStates(chat.messages.at(-1))).toEqual(['list_files output-available']);
    const kept = await stored(place.uhp.url, chat.id);
    expect(kept.map(({ id }) => id)).toEqual(chat.messages.map(({ id }) => id));
    await chat.sendMessage({ text: 'hello' });
    expect(textOf(chat.messages.at(-1))).toBe('You said: hello');
    expect(new Set(chat.messages.map(({ id }) => id)).size).toBe(4);
  });

  test('P-087: what is approved is run, in the same message', async () => {
    const chat = begin();
    await chat.sendMessage({ text: 'write' });
    expect(toolStates(chat.messages.at(-1))).toEqual(['write_file approval-requested']);
    const { id } = chat.messages.at(-1) ?? {};
    await answer(chat, 'w', true);
    expect(chat.error).toBeUndefined();
    expect(toolStates(chat.messages.at(-1))).toContain('write_file output-available');
    expect(textOf(chat.messages.at(-1))).toBe('Writing. Done.');
    expect(chat.messages.map((each) => each.id)).toEqual([chat.messages[0]?.id, id]);
  });

  test('P-088: what is denied is told to the model with its reason, and the turn goes on and ends', async () => {
    const chat = begin();
    await chat.sendMessage({ text: 'write' });
    await answer(chat, 'w', false, 'not there');
    expect(chat.error).toBeUndefined();
    expect(toolStates(chat.messages.at(-1))).toEqual(['write_file output-denied']);
    expect(textOf(chat.messages.at(-1))).toBe('Writing. Done.');
    expect(readByModel('write').at(-1)).toContain('not there');
  });

  test('P-088: of two calls of a step one is approved and one denied; the first answer alone changes nothing', async () => {
    const chat = begin();
    await chat.sendMessage({ text: 'both' });
    await answer(chat, 'a', true);
    expect(toolStates(chat.messages.at(-1)).toSorted()).toEqual([
      'write_file approval-requested',
      'write_file approval-responded',
    ]);
    await answer(chat, 'b', false);
    expect(chat.error).toBeUndefined();
    expect(toolStates(chat.messages.at(-1)).filter((each) => each.startsWith('write_file'))).toEqual([
      'write_file output-available',
      'write_file output-denied',
    ]);
    expect(textOf(chat.messages.at(-1))).toBe('Done.');
  });

  test('P-088: an answer that is sent before the other is kept, and its turn waits for the rest', async () => {
    const chat = begin({ automatic: false });
    await chat.sendMessage({ text: 'both' });
    await answer(chat, 'a', true);
    await chat.sendMessage();
    expect(chat.error).toBeUndefined();
    expect(toolStates(chat.messages.at(-1))).toEqual([
      'write_file approval-responded',
      'write_file approval-requested',
    ]);
    await answer(chat, 'b', true);
    await chat.sendMessage();
    expect(textOf(chat.messages.at(-1))).toBe('Done.');
    expect(chat.error).toBeUndefined();
  });

  test('P-087: a question is answered with the output of its call', async () => {
    const chat = begin();
    await chat.sendMessage({ text: 'ask' });
    expect(toolStates(chat.messages.at(-1))).toEqual(['ask_user_questions input-available']);
    await chat.addToolOutput({ tool: 'ask_user_questions', toolCallId: 'q', output: 'blue' });
    await new Promise((resolve) => setTimeout(resolve, 0));
    await ready(chat);
    expect(chat.error).toBeUndefined();
    expect(textOf(chat.messages.at(-1))).toBe('So be it.');
    expect(readByModel('ask').at(-1)).toContain('- blue');
  });

  test('P-088: an answer to nothing that waits is refused in words', async () => {
    const [chat, other] = [begin({ automatic: false }), begin({ automatic: false })];
    await chat.sendMessage({ text: 'write' });
    await answer(chat, 'w', true);
    await chat.sendMessage();
    // As a page would have it that was left open elsewhere.
    const stale = open({ url: place.uhp.url, id: chat.id, automatic: false, messages: chat.messages });
    await stale.sendMessage();
    expect(stale.error?.message).toContain('Nothing waits for this answer.');
    await other.sendMessage({ text: 'list' });
    await other.sendMessage();
    expect(other.error?.message).toContain('Nothing waits for this answer.');
  });

  test('P-090: a new message takes the place of what waits, and is answered', async () => {
    const chat = begin();
    await chat.sendMessage({ text: 'write' });
    await chat.sendMessage({ text: 'rather this' });
    expect(chat.error).toBeUndefined();
    expect(textOf(chat.messages.at(-1))).toBe('You said: rather this');
    const kept = await stored(place.uhp.url, chat.id);
    expect(kept.map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'assistant']);
    expect(kept.map(({ id }) => id)).toEqual(chat.messages.map(({ id }) => id));
    expect(toolStates(kept[1])).toEqual(['write_file output-denied']);
  });

  test('P-094: a message is answered anew, and an earlier one changed: what came behind it is gone', async () => {
    const chat = begin();
    await chat.sendMessage({ text: 'one' });
    await chat.sendMessage({ text: 'two' });
    const [first, , second] = chat.messages;
    await chat.regenerate();
    expect(chat.error).toBeUndefined();
    expect(chat.messages.map(textOf)).toEqual(['one', 'You said: one', 'two', 'You said: two']);
    expect((await stored(place.uhp.url, chat.id)).map(({ id }) => id)).toEqual(chat.messages.map(({ id }) => id));
    expect(chat.messages[2]?.id).toBe(second?.id);
    await chat.sendMessage({ text: 'other', messageId: first?.id ?? '' });
    expect(chat.error).toBeUndefined();
    expect((await stored(place.uhp.url, chat.id)).map(textOf)).toEqual(['other', 'You said: other']);
  });

  test('P-085: of a reply that broke off and was given anew nothing stays', async () => {
    const chat = begin();
    await chat.sendMessage({ text: 'breaks' });
    expect(chat.error).toBeUndefined();
    // An older client cannot take back what it has shown: it is told that it is void.
    expect(textOf(chat.messages.at(-1))).toBe(chunks === 6 ? 'It is grIt is blue.' : 'It is blue.');
    expect(chat.messages.at(-1)?.parts.filter(({ type }) => type === 'data-reins-reset')).toHaveLength(
      chunks === 6 ? 1 : 0,
    );
    expect(textOf((await stored(place.uhp.url, chat.id)).at(-1))).toBe('It is blue.');
  });

  test('P-092: the stop ends the turn for who asked and for who came back, and nobody asks again', async () => {
    const chat = begin();
    const first = chat.sendMessage({ text: 'held' });
    await eventually(() => (textOf(chat.messages.at(-1)) === 'first ' ? true : undefined));
    const other = begin({ id: chat.id, messages: chat.messages });
    const second = other.resumeStream();
    await eventually(() => (other.status === 'streaming' ? true : undefined));
    await chatCall(place.uhp.url, `/api/chat/${chat.id}/stop`, { method: 'POST' });
    await Promise.all([first, second]);
    for (const each of [chat, other]) {
      expect([each.status, each.error]).toEqual(['ready', undefined]);
      expect(textOf(each.messages.at(-1))).toBe('first ');
      expect(each.messages).toHaveLength(2);
    }
  });

  test('P-092: the stop of the hook leaves the stream alone', async () => {
    const chat = begin();
    const sent = chat.sendMessage({ text: 'held' });
    await eventually(() => (textOf(chat.messages.at(-1)) === 'first ' ? true : undefined));
    await chat.stop();
    await sent;
    const { body } = await place.uhp.send('GET', '/v1/sessions?limit=1');
    expect(body).toMatchObject({ sessions: [{ status: 'in_progress' }] });
    await chatCall(place.uhp.url, `/api/chat/${chat.id}/stop`, { method: 'POST' });
  });

  test('P-095: what fails is told in words that are safe', async () => {
    const chat = begin();
    await chat.sendMessage({ text: 'fails' });
    expect(chat.status).toBe('error');
    expect(chat.error?.message).not.toBe('');
    expect(chat.error?.message).not.toMatch(/127\.0\.0\.1|at .*\.ts/);
  });
});
