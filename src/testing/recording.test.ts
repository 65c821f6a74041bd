import { afterEach, describe, expect, test } from 'vitest';
import { createAgent } from '../agent.ts';
import { createPartsView } from '../views/parts-view.ts';
import { createScriptedModel, readRecording, simpleCall, simpleText } from './index.ts';
import { createTextView } from '../views/text-view.ts';
import { defineTool } from '../engine/define-tool.ts';
import { marshalStreamPart, type StreamPart } from '../protocol/parts/index.ts';
import { z } from 'zod';
import type { Model } from '../engine/model.ts';
import type { RunEvent } from '../core/run-event.ts';

let weather = 'Rain';
afterEach(() => void (weather = 'Rain'));
const tool = defineTool({
  name: 'weather',
  description: 'Says what the weather is like.',
  input: z.object({ city: z.string() }),
  run: async ({ city }) => `${weather} in ${city}.`,
});

async function run(provider: Model, ...inputs: readonly string[]) {
  await using agent = createAgent({}, { provider, tools: [tool] });
  const events: RunEvent[] = [];
  let sessionId: string | undefined;
  let result;
  for (const input of inputs) {
    const stream = agent.runStream(input, sessionId === undefined ? {} : { sessionId });
    for await (const event of stream) events.push(event);
    result = await stream.result();
    sessionId = result.sessionId;
  }
  return { events, result };
}

const parts = (events: readonly RunEvent[], envelope = true) => {
  const view = createPartsView({ envelope });
  return events.flatMap((event) => view.push(event));
};
const fileOf = (all: readonly StreamPart[]) => all.map((part) => `${marshalStreamPart(part)}\n`).join('');

async function recorded() {
  const usage = { inputTokens: 3, outputTokens: 4 };
  const script = [
    { ...simpleCall('c1', 'weather', { city: 'Bern' }), usage },
    simpleText('Take ', 'one.'),
    simpleText('Bye.'),
  ];
  const { events, result } = await run(createScriptedModel(script), 'Umbrella?', 'Thanks.');
  return { events, result, file: fileOf(parts(events)) };
}

describe('a recorded conversation with a model, played again', () => {
  test('gives the same replies, results and usage to an agent that says and does the same', async () => {
    const { events, result, file } = await recorded();
    const model = readRecording(file).model();
    const again = await run(model, 'Umbrella?', 'Thanks.');
    model.verify();
    expect(again.result?.output).toBe(result?.output);
    const facts = (log: readonly RunEvent[]) =>
      log.flatMap((event) =>
        event.type === 'turn-complete' || event.type === 'tool-result' || event.type === 'text-complete'
          ? [event.data]
          : [],
      );
    expect(facts(again.events)).toEqual(facts(events));
  });

  test('a tool that answers otherwise is named, with both answers', async () => {
    const model = readRecording((await recorded()).file).model();
    weather = 'Snow';
    const { result } = await run(model, 'Umbrella?');
    expect(result?.failed).toBe(true);
    expect(() => model.verify()).toThrow(
      'Reply 2: "weather" answers "Snow in Bern.", and "Rain in Bern." was recorded.',
    );
  });

  test('what may differ is made the same on both sides', async () => {
    const model = readRecording((await recorded()).file).model({
      normalize: (text) => text.replace(/^(?:Rain|Snow)/, 'Wet'),
    });
    weather = 'Snow';
    expect((await run(model, 'Umbrella?', 'Thanks.')).result?.output).toBe('Bye.');
    model.verify();
  });

  test('another word of a person is named', async () => {
    const model = readRecording((await recorded()).file).model();
    await run(model, 'Sunglasses?');
    expect(() => model.verify()).toThrow('Reply 1: the model is told "Sunglasses?", and "Umbrella?" was recorded.');
  });

  test('more than was recorded is refused, less is noticed', async () => {
    const { file } = await recorded();
    const [more, less] = [readRecording(file).model(), readRecording(file).model()];
    await run(more, 'Umbrella?', 'Thanks.', 'Still there?');
    expect(() => more.verify()).toThrow('Reply 4: it was asked for, and 3 were recorded.');
    await run(less, 'Umbrella?');
    expect(() => less.verify()).toThrow('1 of 3 recorded replies were not asked for.');
  });

  test('P-068: parts of others do as well, though they do not say what was asked', async () => {
    const { events } = await recorded();
    const model = readRecording(fileOf(parts(events, false))).model();
    expect((await run(model, 'Anything?', 'Else?')).result?.output).toBe('Bye.');
    model.verify();
  });
});

test('a recorded run gives every view what the run gave it', async () => {
  const { events, file } = await recorded();
  const text = createTextView();
  const { replay } = readRecording(file);
  expect(replay(createTextView())).toEqual(events.flatMap((event) => text.push(event)));
  expect(fileOf(replay(createPartsView({ envelope: true })))).toBe(file);
});
