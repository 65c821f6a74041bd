// From what the model wrote to a call that may run, or to a refusal that it can read.

import { describe, expect, test } from 'vitest';
import { countingTool } from '../testing/counting-tool.ts';
import { createEngineRig, type EngineRig } from '../testing/engine-rig.ts';
import { createToolbox } from './prepare-call.ts';
import { mapParts, type ModelPart } from './models/model-part.ts';
import {
  simpleCall,
  simpleCalls,
  simpleText,
  type ReplyPiece,
  type ScriptedReply,
} from '../testing/model-servers/reply-script.ts';

const written = (name: string, json: string): ScriptedReply => ({
  pieces: [{ kind: 'tool-call', id: 'a', name, arguments: json === '' ? [] : [json] }],
});

describe('E-514: a refused call is announced, completed and answered without being run, and the run goes on', () => {
  test.each([
    [
      'an unknown name, with the names there are',
      written('nothing_like_it', '{}'),
      /no tool named.*The tools are: add/,
    ],
    ['a misspelt name, with proposals', written('ad', '{}'), /Did you mean add/],
    ['null', written('add', 'null'), /not one JSON object/],
    ['an array', written('add', '[]'), /not one JSON object/],
    ['a number', written('add', '1'), /not one JSON object/],
    ['cut JSON', written('add', '{"n":'), /not one JSON object/],
    ['a wrong type', written('add', '{"n":"one"}'), /n must be number/],
    ['an unknown argument', written('add', '{"m":1}'), /additional properties \('m'\)/],
    ['a missing argument', written('need', '{}'), /the object must have required property 'x'/],
    ['a fault deep inside', written('need', '{"x":{"y":[1,"two"]}}'), /x\.y\.1 must be number/],
    ['no arguments where some are needed', written('need', ''), /required property 'x'/],
    ['arguments that are no object, before the name is looked at', written('nothing', '[]'), /not one JSON object/],
  ])('E-510 to E-513: %s', async (_, reply, message) => {
    const y = { type: 'array', items: { type: 'number' } };
    const inputSchema = { type: 'object', properties: { x: { type: 'object', properties: { y } } }, required: ['x'] };
    const tools = [countingTool('add'), countingTool('need', { inputSchema })];
    const rig = createEngineRig({ replies: [reply, simpleText('ok')], tools });
    expect(await rig.run()).toMatchObject({ status: 'completed', output: 'ok' });
    expect(tools.flatMap(({ runs }) => runs)).toEqual([]);
    expect(rig.answers()['a']).toMatch(message);
    expect(rig.answers()['a']).not.toContain('\n');
    expect(rig.events('tool-call-start')).toMatchObject([{ data: { willRun: false } }]);
    expect(rig.events('tool-call-complete')).toMatchObject([{ data: { outcome: 'invalid' } }]);
    expect(rig.events('tool-result')).toMatchObject([{ data: { isError: true } }]);
  });
});

test('E-511: the empty string is an empty object where the schema allows one', async () => {
  const tool = countingTool('add');
  const rig = createEngineRig({ replies: [written('add', ''), simpleText('ok')], tools: [tool] });
  await rig.run();
  expect(tool.runs).toEqual([{}]);
});

test('E-513: values are taken as they are, but for the defaults of the schema', async () => {
  const inputSchema = { type: 'object', properties: { n: { type: 'number', default: 7 }, s: { type: 'string' } } };
  const tool = countingTool('add', { inputSchema });
  const rig = createEngineRig({
    replies: [simpleCall('a', 'add', { s: '1' }), simpleCall('b', 'add', { s: 1 }), simpleText('ok')],
    tools: [tool],
  });
  await rig.run();
  expect(tool.runs).toEqual([{ n: 7, s: '1' }]);
});

test('a tool whose schema is none is refused, and the others work', async () => {
  const tools = [countingTool('odd', { inputSchema: { type: 'banana' } }), countingTool('add')];
  const rig = createEngineRig({ replies: [simpleCalls(['a', 'odd', {}], ['b', 'add', {}]), simpleText('ok')], tools });
  expect(await rig.run()).toMatchObject({ output: 'ok' });
  expect(rig.answers()).toMatchObject({ a: expect.stringContaining('schema'), b: 'add ran' });
});

describe('E-512: names', () => {
  const tools = ['read_file', 'readFile2', 'two_ways', 'twoWays'].map((name) => countingTool(name));
  const prepare = (name: string) => createToolbox(tools).prepare({ id: 'a', name, arguments: '{}' });

  test.each(['read_file', 'readFile', 'READ-FILE', 'functions.read_file', 'tools.ReadFile', 'default_api:read_file'])(
    '%s finds read_file',
    async (name) => {
      expect(await prepare(name)).toMatchObject({ verdict: 'run', tool: { name: 'read_file' } });
    },
  );

  test('an exact name is never another one; one that fits two is none', async () => {
    expect(await prepare('twoWays')).toMatchObject({ tool: { name: 'twoWays' } });
    expect(await prepare('TWO-WAYS')).toMatchObject({ verdict: 'refuse' });
  });

  test('at most three are proposed', async () => {
    const many = createToolbox(['aa', 'ab', 'ac', 'ad'].map((name) => countingTool(name)));
    const refused = await many.prepare({ id: 'a', name: 'ax', arguments: '{}' });
    expect(refused).toMatchObject({ content: expect.stringMatching(/Did you mean aa, ab, ac\?/) });
  });
});

test('E-510, E-515: request middleware changes name and arguments before they are read, keeps the id, and may be asked again', async () => {
  const tool = countingTool('add');
  const seen: string[] = [];
  const beforeTool = ({ id, name, arguments: json }: { id: string; name: string; arguments: string }) => {
    seen.push(id);
    return { name: name.replace('plus', 'add'), arguments: json.replace('one', '1') };
  };
  const rig = createEngineRig({
    replies: [written('plus', '{"n":one}'), simpleText('ok')],
    tools: [tool],
    parts: { middleware: [{ beforeTool }] },
  });
  await rig.run();
  expect(tool.runs).toEqual([{ n: 1 }]);
  expect(rig.events('tool-call-start')).toMatchObject([{ data: { id: 'a', name: 'add', input: { n: 1 } } }]);
  expect(new Set(seen)).toEqual(new Set(['a']));
});

test('E-510: all calls of a batch are prepared before one is dispatched', async () => {
  const order: string[] = [];
  const tools = ['one', 'two'].map((name) =>
    countingTool(name, { concurrent: false, run: async () => (order.push(`run ${name}`), { content: '' }) }),
  );
  const beforeTool = (call: { id: string; name: string; arguments: string }) => (
    order.push(`prepare ${call.name}`),
    call
  );
  const rig = createEngineRig({
    replies: [simpleCalls(['a', 'one', {}], ['b', 'two', {}]), simpleText('ok')],
    tools,
    parts: { middleware: [{ beforeTool }] },
  });
  await rig.run();
  expect(order).toEqual(['prepare one', 'prepare two', 'run one', 'run two']);
});

test('E-307, B077: two calls with one id, and two calls melted into one, are no reply: nothing of them runs', async () => {
  const tool = countingTool('add');
  const melted = written('add', '{"n":1}{"n":2}');
  const rig = createEngineRig({
    replies: [simpleCalls(['a', 'add', {}], ['a', 'add', {}]), melted, simpleText('ok')],
    tools: [tool],
  });
  expect(await rig.run()).toMatchObject({ output: 'ok', attempts: 3, steps: 1 });
  expect(tool.runs).toEqual([]);
  expect(rig.events('attempt-reset').map(({ data }) => data.reason)).toEqual(['malformed-reply', 'malformed-reply']);
});

test('B077: three calls of one tool, alike but for their ids, are three calls', async () => {
  const tool = countingTool('add');
  const rig = createEngineRig({
    replies: [simpleCalls(['a', 'add', { n: 1 }], ['b', 'add', { n: 1 }], ['c', 'add', { n: 1 }]), simpleText('ok')],
    tools: [tool],
  });
  await rig.run();
  expect(tool.runs).toEqual([{ n: 1 }, { n: 1 }, { n: 1 }]);
});

test('B079: arguments cut inside a key, a number, an escape and a character are put together once, whole', async () => {
  const inputSchema = { type: 'object', properties: { text: { type: 'string' }, n: { type: 'number' } } };
  const tool = countingTool('add', { inputSchema });
  const json = JSON.stringify({ text: 'tab\t and 😀', n: 1234 });
  const pieces: ReplyPiece[] = [{ kind: 'tool-call', id: 'a', name: 'add', arguments: json.split('') }];
  const rig = createEngineRig({ replies: [{ pieces }, simpleText('ok')], tools: [tool] });
  await rig.run();
  expect(tool.runs).toEqual([{ text: 'tab\t and 😀', n: 1234 }]);
});

test('E-307, B077: pieces of two calls that come interleaved go each to its own call', async () => {
  const tool = countingTool('add');
  /** All parts of a stream at its end, one of each call in turn. */
  const interleave = () => {
    const held = new Map<string, ModelPart[]>();
    return (part: ModelPart): readonly ModelPart[] => {
      const id = 'toolCallId' in part ? part.toolCallId : 'id' in part ? (part.id ?? '') : '';
      if (part.type !== 'finish') return held.set(id, [...(held.get(id) ?? []), part]) && [];
      const rounds = Math.max(...[...held.values()].map(({ length }) => length));
      const parts = Array.from({ length: rounds }, (_, round) =>
        [...held.values()].flatMap((each) => each[round] ?? []),
      );
      return [...parts.flat(), part];
    };
  };
  const [a, b] = ['1', '2'].map((n, at): ReplyPiece => ({
    kind: 'tool-call',
    id: 'ab'.charAt(at),
    name: 'add',
    arguments: ['{"n', '":', `${n}}`],
  }));
  const rig: EngineRig = createEngineRig({
    replies: [{ pieces: [a, b].filter((piece) => piece !== undefined) }, simpleText('ok')],
    tools: [tool],
    parts: { openModel: async () => ({ model: mapParts(rig.model, interleave), traits: {}, maxOutputTokens: null }) },
  });
  expect(await rig.run()).toMatchObject({ status: 'completed', output: 'ok' });
  expect(tool.runs).toEqual([{ n: 1 }, { n: 2 }]);
  expect(rig.events('tool-call-delta').map(({ data }) => data.id)).toEqual('abababab'.split(''));
});
