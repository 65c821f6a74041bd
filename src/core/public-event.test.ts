import { expect, test } from 'vitest';
import { createLogBuilder } from '../testing/log-builder.ts';
import { publicEvent } from './public-event.ts';
import type { RunEvent } from './run-event.ts';

function privateKeys(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => [
    ...(key.startsWith('_') ? [key] : []),
    ...privateKeys(inner),
  ]);
}

test('E-104: no private field is left in an event, and nothing else is taken', () => {
  const log = createLogBuilder();
  log.start();
  log.step({ blocks: [{ kind: 'call', id: 'c', pieces: ['{}'], outcome: 'ok', content: 'Done.' }] });
  log.step({ blocks: [{ kind: 'text', pieces: ['Yes.'] }] });
  log.end({ status: 'completed', stopReason: 'end-turn' });
  const config = { base: 'native', systemPrompt: 'Be.', instructions: null, disabledTools: [] };
  const given = log.events.map((event): RunEvent => {
    if (event.type === 'run-started') return { ...event, data: { ...event.data, _config: config } };
    if (event.type !== 'turn-complete') return event;
    return {
      ...event,
      data: { ...event.data, parts: event.data.parts.map((part) => ({ ...part, _provider: { a: 1 } })) },
    };
  });
  expect(new Set(privateKeys(given))).toEqual(new Set(['_config', '_provider', '_raw']));
  const shown = given.map(publicEvent);
  expect(privateKeys(shown)).toEqual([]);
  const bare = (events: unknown) =>
    JSON.parse(JSON.stringify(events, (key, value) => (key.startsWith('_') ? undefined : value)));
  expect(shown).toEqual(bare(given));
});

test('E-104: a key with an underscore that a tool was given is no private field', () => {
  const log = createLogBuilder();
  log.start();
  const data = { id: 'c', name: 'tool', input: { _id: 7 }, executionKey: 'k', willRun: true };
  log.add({ type: 'tool-call-start', step: 1, attempt: 1, data });
  expect(log.events.map(publicEvent).at(-1)).toMatchObject({ data });
});
