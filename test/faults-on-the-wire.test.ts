// What a client reads of a harness that fails, wherever it does: lines of the one encoder, and one end.

import { expect, test } from 'vitest';
import { key } from './support/uhp.ts';
import { piece, turnHarness, turnSettings } from './support/turn-harness.ts';
import { startServer } from './support/server.ts';
import { temporaryFolder } from './support/folders.ts';
import type { Body, StreamEvent } from './support/event-stream.ts';
import type { HarnessAdapter, HarnessSession, Turn } from '../src/harnesses/harness.ts';

const inner = 'SELECT secret FROM /srv/reins/inner.ts';
const breaks = (): never => {
  throw new Error(inner);
};
const good = turnHarness(async function* () {
  yield [piece(0, 'so '), piece(0, 'far')];
});
const withSession = (change: (session: HarnessSession) => HarnessSession): HarnessAdapter => ({
  ...good,
  openSession: async (options) => change(await good.openSession(options)),
});
/** Its groups up to the result, which is left out or not; then it breaks. */
async function* cutAtResult(turn: Turn, result: 'told' | 'untold'): Turn {
  for await (const drafts of turn) {
    const at = drafts.findIndex(({ type }) => type === 'run-result');
    yield at === -1 || result === 'told' ? drafts : drafts.slice(0, at);
    if (at !== -1) breaks();
  }
}

const failing: Readonly<Record<string, HarnessAdapter>> = {
  'in opening its session': { ...good, openSession: async () => breaks() },
  'before the first event': withSession((session) => ({ ...session, prompt: breaks })),
  'with its first event under way': turnHarness(async function* () {
    yield breaks();
  }),
  'inside an item': turnHarness(async function* () {
    yield [piece(0, 'so far')];
    breaks();
  }),
  'between two items that take turns': turnHarness(async function* () {
    yield [piece(0, 'so '), piece(1, 'other'), piece(0, 'far')];
    breaks();
  }),
  'while finishing': withSession((session) => ({
    ...session,
    prompt: (state, options) => cutAtResult(session.prompt(state, options), 'untold'),
  })),
};
const late: Readonly<Record<string, HarnessAdapter>> = {
  'once it has given its result': withSession((session) => ({
    ...session,
    prompt: (state, options) => cutAtResult(session.prompt(state, options), 'told'),
  })),
  'in closing its session': withSession((session) => ({ ...session, [Symbol.asyncDispose]: async () => breaks() })),
};

async function streamOf(adapter: HarnessAdapter) {
  await using server = await startServer({ data: temporaryFolder(), settings: turnSettings, adapters: [adapter] });
  const response = await fetch(`${server.url}/v1/responses`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ input: 'go', stream: true }),
  });
  const bytes = await response.text();
  const events = eventsOf(bytes);
  const final = events.at(-1)?.response;
  const again = await server.uhp.create({ input: 'go', previous_response_id: final?.id });
  return { bytes, events, final, stored: (await server.uhp.get(final?.id ?? '')).body, again };
}

/** Throws on a line that is no `id:`, no JSON and no comment. */
function eventsOf(bytes: string): readonly StreamEvent[] {
  return bytes.split('\n').flatMap((line) => {
    if (line === '' || line.startsWith(':') || /^id: \d+$/.test(line)) return [];
    if (!line.startsWith('data: ')) throw new Error(`A line of another hand: ${line}`);
    return [JSON.parse(line.slice('data: '.length)) as StreamEvent];
  });
}

function expectOneEnd({ bytes, events, final, stored, again }: Awaited<ReturnType<typeof streamOf>>, status: string) {
  expect(events.map(({ sequence_number }) => sequence_number)).toEqual([...events.keys()]);
  const ends = events.filter(({ type }) => /^response\.(completed|failed|incomplete|cancelled)$/.test(type));
  expect(ends).toEqual([events.at(-1)]);
  expect(events.slice(0, 2).map(({ type }) => type)).toEqual(['response.created', 'response.in_progress']);
  for (const event of events.filter(({ type }) => type === 'error'))
    expect(event).toMatchObject({ code: expect.any(String), message: expect.any(String), param: null });
  expect(stored).toEqual(final);
  expect(final?.status).toBe(status);
  expect(bytes).not.toMatch(/SELECT|inner\.ts/);
  expect(again.status).toBe(200);
}

const said = (body: Body | undefined) => body?.output.map(({ content }) => content?.map(({ text }) => text).join(''));

test.each(Object.entries(failing))('B012: a harness that fails %s: each line is JSON, one end', async (at, adapter) => {
  const seen = await streamOf(adapter);
  expectOneEnd(seen, 'failed');
  expect(seen.final?.error).toMatchObject({ type: 'harness_error', code: 'harness_error' });
  const shown = { 'inside an item': ['so far'], 'while finishing': ['so far'] }[at];
  if (shown !== undefined) expect(said(seen.final)).toEqual(shown);
});

test.each(Object.entries(late))('B012: one that fails %s has ended before', async (_at, adapter) => {
  const seen = await streamOf(adapter);
  expectOneEnd(seen, 'completed');
  expect(said(seen.final)).toEqual(['so far']);
});
