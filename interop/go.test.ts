// P-112 against the Go SDK: what `reins/parts` and `pkg/harness` make of the same texts. Values are compared, never bytes (P-027).
// Each difference is a row of the table (E1 to E35) or a rule on purpose (P-…), named here: another one fails. E35 is the Go
// SDK's host, which is not asked.

import fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import {
  createWorkDirStripper,
  decodeStreamPart,
  marshalStreamPart,
  marshalTagged,
  PartType,
  stripWorkDir,
  StreamPartError,
  translatePart,
  UnknownPartTypeError,
  type StreamPart,
} from '../src/protocol/parts/index.ts';
import { arbitraryPart } from '../src/testing/arbitrary-part.ts';
import {
  edges,
  finishStep,
  refused,
  roundTrips,
  strippedFrom as dir,
  strippedPieces,
  strippedTexts,
  toolCall,
  translated,
} from '../src/testing/part-vectors.ts';
import { asGo } from './as-go.ts';
import { noGoSdk, openGoSdk, type GoAnswer, type GoCommand } from './go-sdk.ts';
import { withoutEmpty } from './without-empty.ts';

const counted = (usage: unknown) => ({ ...finishStep, usage });

type Json = Readonly<Record<string, unknown>>;
const parse = (text = 'null'): Json => JSON.parse(text);
const textOf = (input: unknown) =>
  typeof input === 'string' || input instanceof Uint8Array ? input : JSON.stringify(input);

/** What was read, as it is written again; or whether its type was not known, or it was no part. */
type Reading = Json | 'unknown_type' | 'refused';

function here(input: unknown): Reading {
  try {
    return parse(marshalStreamPart(decodeStreamPart(input)));
  } catch (cause) {
    if (!(cause instanceof StreamPartError)) throw cause;
    return cause instanceof UnknownPartTypeError ? 'unknown_type' : 'refused';
  }
}
const readingOf = ({ fault, parts }: GoAnswer): Reading => fault ?? parse(parts?.[0]);

let ask: (commands: readonly GoCommand[]) => readonly GoAnswer[];
beforeAll(() => {
  if (noGoSdk === null) ask = openGoSdk();
}, 300_000);

/** Of many inputs each, what it is there and what it is here. */
function readings(inputs: readonly unknown[]): readonly { readonly there: Reading; readonly here: Reading }[] {
  const answers = ask(inputs.map((input) => ({ do: 'decode', parts: [textOf(input)] })));
  return answers.map((answer, index) => ({ there: readingOf(answer), here: here(inputs[index]) }));
}

/** Parts enough that what is rare is among them; a failure names the seed. */
function sample<T>(arbitrary: fc.Arbitrary<T>, numRuns = 500): { readonly seed: string; readonly items: readonly T[] } {
  const seed = Math.floor(Math.random() * 2 ** 31);
  return { seed: `seed ${seed}`, items: fc.sample(arbitrary, { numRuns, seed }) };
}

const title = noGoSdk === null ? 'the Go SDK' : `the Go SDK (skipped: ${noGoSdk})`;
describe.skipIf(noGoSdk !== null)(title, () => {
  test('P-110, P-027: every vector is read there, and written as what it is', () => {
    const texts = roundTrips.map(([, part]) => JSON.stringify(part));
    for (const [index, { there }] of readings(texts).entries())
      expect(there, roundTrips[index]?.[0]).toEqual(withoutEmpty(parse(texts[index])));
  });

  test('P-111: what is refused here is refused there, save for the rows that say otherwise', () => {
    const found = readings(refused.map(([, input]) => input));
    expect(found.filter(({ here: own }) => own !== 'refused')).toEqual([]);
    const taken = refused.flatMap(([name], index) => (found[index]?.there === 'refused' ? [] : [name]));
    // E16: of the other warnings, too, they read what is missing as empty. P-010: a limit of ours.
    expect(taken).toEqual(['E11: a count beyond 2^53-1', 'a bad warning', '257 levels']);
  });

  test('P-112: each edge is there what its row says', () => {
    const otherwise: Readonly<Record<string, Reading>> = {
      E8: { type: 'tool-input-start', id: '', toolName: '' },
      'E8: an empty list is kept': { type: 'stream-start' },
      E10: 'refused',
      E12: { type: 'compaction', trigger: 'manual', summary: 's', tokensBefore: 2.5, tokensAfter: 0.4 },
      'E13: a count that is none is not known': 'refused',
      'E13: a count beyond 2^53-1 is not known, either': counted({
        inputTokens: {},
        outputTokens: { total: 2 ** 53, text: 2 ** 53 - 1 },
      }),
      E15: 'refused',
      E21: { type: 'text-end', id: 'b' },
      E25: { type: 'raw', rawValue: -0 },
    };
    for (const [index, { there, here: own }] of readings(edges.map(([, input]) => input)).entries()) {
      const [name = '', , written] = edges[index] ?? [];
      expect(own, name).toEqual(written);
      expect(there, name).toEqual(otherwise[name] ?? otherwise[name.split(':')[0] ?? ''] ?? written);
    }
  });

  const end = { type: 'text-end', id: 'a' };
  const proto = '{"type":"raw","rawValue":{"__proto__":{"a":1}}}';
  test.each<readonly [string, unknown, { readonly there: Reading; readonly here: Reading }]>([
    ['E1', { type: 'steering-message' }, { there: 'unknown_type', here: 'unknown_type' }],
    ['E2: a type that is null is one that is not known', { type: null }, { there: 'unknown_type', here: 'refused' }],
    [
      'E11',
      { ...toolCall, stepToolCallCount: 2 ** 53 },
      { there: { ...toolCall, stepToolCallCount: 2 ** 53 }, here: 'refused' },
    ],
    [
      'E12: in usage',
      counted({ inputTokens: { total: 1.5 } }),
      { there: 'refused', here: counted({ inputTokens: { total: 2 }, outputTokens: {} }) },
    ],
    [
      'E13: in usage',
      counted({ inputTokens: { total: -1 } }),
      { there: counted({ inputTokens: { total: -1 }, outputTokens: {} }), here: finishStep },
    ],
    [
      'E13: more than an integer holds',
      counted({ inputTokens: { total: 1e19 } }),
      { there: 'refused', here: finishStep },
    ],
    [
      'E22: metadata of two keys of one name is that of both',
      `{"type":"text-end","id":"a","harnessMetadata":{"a":{}},"harnessMetadata":{"b":{}}}`,
      { there: { ...end, harnessMetadata: { a: {}, b: {} } }, here: { ...end, harnessMetadata: { b: {} } } },
    ],
    ['E23', proto, { there: parse(proto), here: parse(proto) }],
    [
      'E27: null for metadata of one',
      { ...end, harnessMetadata: { pi: null } },
      { there: { ...end, harnessMetadata: { pi: null } }, here: 'refused' },
    ],
    ['E29', { ...end, id: '' }, { there: { ...end, id: '' }, here: { ...end, id: '' } }],
    ['P-010: a mark of the byte order', `\uFEFF${JSON.stringify(end)}`, { there: 'refused', here: end }],
    [
      'P-010: text that is no UTF-8',
      Buffer.from('{"type":"text-end","id":"\xFF"}', 'latin1'),
      { there: { ...end, id: '\uFFFD' }, here: 'refused' },
    ],
  ])('%s', (_row, input, expected) => {
    expect(readings([input])).toEqual([expected]);
  });

  test('E26: keys in order, `<`, `>` and `&` escaped; P-113: a tagged object is the same value', () => {
    const value = { b: '<&>\u2028', a: [null, 1.5, { '': false }], type: 'y' };
    const [{ parts: [text = ''] = [] } = {}, none] = ask([
      { do: 'marshal', type: 'x', value: { b: value.b, a: value.a } },
      { do: 'marshal', type: 'x', value: [] },
    ]);
    expect(text).toBe(String.raw`{"type":"x","a":[null,1.5,{"":false}],"b":"\u003c\u0026\u003e\u2028"}`);
    expect(parse(text)).toEqual(parse(marshalTagged('x', value)));
    expect(none?.fault).toBe('refused');
  });

  test('P-027: legal parts, both ways: what is written here is the same there, and what is written there the same here', () => {
    const { seed, items } = sample(arbitraryPart, 1_000);
    const texts = items.map(marshalStreamPart);
    for (const [index, { there }] of readings(texts).entries()) {
      const written = withoutEmpty(parse(texts[index]));
      expect(there, seed).toEqual(written);
      expect(here(JSON.stringify(there)), seed).toEqual(written);
    }
    expect(new Set(items.map(({ type }) => type)).size).toBe(Object.keys(PartType).length);
  });

  test('P-117: changed parts: what is read on one side is the same on the other, save for rows', () => {
    const odd = fc.oneof(
      fc.jsonValue({ maxDepth: 2 }),
      fc.constantFrom(null, '', 0, -1, 1.5, true, 'stop', 'auto', {}, []),
    );
    const changed = fc
      .tuple(arbitraryPart, fc.array(fc.nat(20), { minLength: 1, maxLength: 4 }), fc.option(odd, { nil: undefined }))
      .map(([part, path, put]) => JSON.stringify(change(parse(JSON.stringify(part)), path, put)));
    const { seed, items } = sample(changed, 3_000);
    const texts = items.filter((text) => !isOtherwise(text));
    for (const [index, { there, here: own }] of readings(texts).entries())
      expect(there, `${seed}: ${texts[index]}`).toEqual(typeof own === 'string' ? own : withoutEmpty(own));
    expect(texts.length).toBeGreaterThan(1_500);
  });

  const stripping = (pieces: readonly string[]) =>
    [
      { type: 'tool-input-start', id: 'c', toolName: 't' },
      ...pieces.map((delta) => ({ type: 'tool-input-delta', id: 'c', delta })),
      { type: 'tool-input-end', id: 'c' },
    ].map((part) => JSON.stringify(part));
  const joined = (parts: readonly (Json | StreamPart)[]) =>
    parts.map((part) => ('delta' in part ? part.delta : '')).join('');

  test('P-114: paths are stripped alike, whole and in pieces, save for slashes in a row, none behind them, and spaces beyond ASCII', () => {
    const words = fc.constantFrom(dir, '/box', '/s1', '/', ' ', '"', '=', ':', ';', '(', 'a', '\n', '/box/s1/x', '\\');
    const { seed, items } = sample(fc.array(fc.array(words, { maxLength: 5 }), { maxLength: 5 }), 1_000);
    const inputs = [
      ...strippedTexts.map(([text]) => [text]),
      ...strippedPieces.map(([pieces]) => pieces),
      ...items.map((pieces) => pieces.map((piece) => piece.join(''))),
    ];
    const given = ask(
      inputs.flatMap((pieces): GoCommand[] => [
        { do: 'strip', parts: [JSON.stringify({ type: 'file-change', event: 'modify', path: pieces.join('') })], dir },
        { do: 'strip-stream', parts: stripping(pieces), dir },
      ]),
    );
    let alike = 0;
    for (const [index, pieces] of inputs.entries()) {
      const [whole, stream] = [given[2 * index], given[2 * index + 1]].map((each) =>
        (each?.parts ?? []).map((text) => parse(text)),
      );
      const own = stripWorkDir({ type: 'file-change', event: 'modify', path: pieces.join('') }, dir);
      const stripper = createWorkDirStripper(dir);
      const shown = joined(stripping(pieces).flatMap((text) => stripper(decodeStreamPart(text))));
      // P-043: `<dir>//a` and `<dir>/`. P-042: whitespace is that of JavaScript.
      if (/\/box\/s1\/([\s"'`;|&<>()/]|$)|[^\S \t\n\f\r]/.test(pieces.join(''))) continue;
      alike += 1;
      expect(whole, seed).toEqual([own]);
      expect(joined(stream ?? []), `${seed}: ${JSON.stringify(pieces)}`).toBe(shown);
    }
    expect(alike).toBeGreaterThan(300);
  });

  test.each([
    ['P-043', `${dir}//a`, '/a'],
    ['P-043', `${dir}/`, ''],
    ['P-042', `a\u00A0${dir}`, `a\u00A0${dir}`],
  ])('%s: on purpose otherwise: %j is %j there', (_rule, path, shown) => {
    const part = { type: 'file-change', event: 'modify', path } as const;
    const [given] = ask([{ do: 'strip', parts: [marshalStreamPart(part)], dir }]);
    expect(parse(given?.parts?.[0])).toEqual({ ...part, path: shown });
    expect(stripWorkDir(part, dir)).not.toEqual({ ...part, path: shown });
  });

  test('P-114: each text inside a result, no key, and no other part', () => {
    const result = { [`${dir}/k`]: [`${dir}/a`, { deep: dir }, 1, null] };
    const parts: readonly StreamPart[] = [
      { type: 'tool-result', toolCallId: 'c', toolName: 't', result },
      { type: 'tool-call', toolCallId: 'c', toolName: 't', input: `"${dir}"` },
      { type: 'text-delta', id: 'a', delta: dir },
      { type: 'error', error: dir },
      { type: 'raw', rawValue: dir },
      { type: 'compaction', trigger: 'auto', summary: dir },
    ];
    const [given] = ask([{ do: 'strip', parts: parts.map(marshalStreamPart), dir }]);
    expect(given?.parts?.map((text) => parse(text))).toEqual(parts.map((part) => stripWorkDir(part, dir)));
  });

  test('P-115: parts become the same chunks, save for rows', () => {
    const failed = (result: unknown) => ({
      type: 'tool-result',
      toolCallId: 'c',
      toolName: 't',
      result,
      isError: true,
    });
    const { seed, items } = sample(arbitraryPart);
    const parts = [
      ...translated.map(([part]) => part),
      ...items,
      ...['no', { why: 'no' }].map((result) => decodeStreamPart(failed(result))),
    ];
    for (const host of [false, true]) {
      const given = ask(parts.map((part) => ({ do: 'translate', parts: [marshalStreamPart(part)], host })));
      for (const [index, part] of parts.entries()) {
        const options = host ? { isProviderExecuted: () => false } : {};
        const own = translatePart(decodeStreamPart(marshalStreamPart(part)), options);
        expect(given[index]?.chunks ?? [], `${seed}: ${JSON.stringify(part)}`).toEqual(asGo(part, own));
      }
    }
  });
});

/** One value in it is another, or, without one, is gone. */
function change(value: unknown, [at = 0, ...deeper]: readonly number[], put: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return put ?? value;
  const entries = Object.entries(value);
  const [key, member] = entries[at % Math.max(entries.length, 1)] ?? [];
  if (key === undefined) return put ?? value;
  if (deeper.length > 0) return { ...value, [key]: change(member, deeper, put) };
  return put === undefined ? Object.fromEntries(entries.filter(([each]) => each !== key)) : { ...value, [key]: put };
}

/** Whether a row says that the two differ: E2 (a type that is null), E12, E13 (counts), E15, E16 (warnings), E27 (null for metadata of one). */
function isOtherwise(text: string): boolean {
  const counts = /"(total|noCache|cacheRead|cacheWrite|text|reasoning|tokensBefore|tokensAfter)":(-|\d+[.e]|\d{16})/;
  const { type, warnings, harnessMetadata, providerMetadata } = parse(text);
  return (
    type === null ||
    counts.test(text) ||
    (Array.isArray(warnings) && warnings.some((each) => !isWarning(each))) ||
    [harnessMetadata, providerMetadata].some((each) => Object.values(Object(each)).includes(null))
  );
}

function isWarning(value: unknown): boolean {
  const { type, setting, tool, message } = Object(value);
  return typeof { 'unsupported-setting': setting, 'unsupported-tool': tool, other: message }[String(type)] === 'string';
}
