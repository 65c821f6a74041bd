// E-010: how things are named, in the declarations of the log's vocabulary and in what stands in real logs.

import { countingTool } from '../testing/counting-tool.ts';
import { createEngineRig } from '../testing/engine-rig.ts';
import { describe, expect, test } from 'vitest';
import { readFileSync } from 'node:fs';
import { simpleCall, simpleText } from '../testing/model-servers/reply-script.ts';
import type { JsonValue } from './json.ts';

const kebab = /^[a-z][a-z0-9]*(?:-[a-z0-9]+)*$/;
const camel = /^_?[a-z][a-zA-Z0-9]*$/;
/** Words of the seed vocabulary, which are kept as they are printed there; the reasons of a gap follow the first of them. */
const keptWords = ['in_progress', 'event_history_unavailable', 'events_pruned', 'deltas_lost', 'log_limit'];

const sources = ['run-event', 'outcome', 'usage', 'questions'].map((name) =>
  readFileSync(new URL(`${name}.ts`, import.meta.url), 'utf8').replaceAll(/\/\/.*|\/\*[\s\S]*?\*\//g, ''),
);
/** Group 1 of all that fits. */
const declared = (pattern: RegExp) =>
  sources.flatMap((text) => [...text.matchAll(pattern)].map(([, name = '']) => name));

describe('E-010: as they are declared', () => {
  test('types, statuses and reasons are kebab-case; names of errors are names of classes', () => {
    const fields = new Set(declared(/readonly (\w+)\??:/g));
    const named = declared(/[|:] '([^'\n]+)'/g).filter((word) => !/^[A-Z]\w*Error$/.test(word));
    // Fields are named where a type is made of another one.
    const words = named.filter((word) => !fields.has(word));
    expect(words.length).toBeGreaterThan(80);
    expect(words.filter((word) => !kebab.test(word) && !keptWords.includes(word))).toEqual([]);
    const types = declared(/^ {2}'([^']+)':/gm);
    expect(types).toContain('tool-call-start');
    expect(types.filter((type) => !kebab.test(type))).toEqual([]);
  });

  test('fields are camelCase, and what counts time says its unit', () => {
    const fields = declared(/readonly (\w+)\??:/g);
    expect(fields.length).toBeGreaterThan(100);
    expect(fields.filter((field) => !camel.test(field))).toEqual([]);
    const times = fields.filter((field) => /time|duration|expires|until|retryIn/i.test(field));
    expect(times.filter((field) => !/(?:Ms|Seconds)$/.test(field))).toEqual([]);
  });
});

/** Values of a program or a person: their keys are theirs. */
const foreign = new Set(['input', 'metadata', '_raw', '_provider']);

function keysOf(value: JsonValue): readonly string[] {
  if (Array.isArray(value)) return value.flatMap((item: JsonValue) => keysOf(item));
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => [key, ...(foreign.has(key) ? [] : keysOf(inner))]);
}

test('E-010: as they stand in a log', async () => {
  const rig = createEngineRig({
    replies: [
      { fault: { kind: 'status', status: 503 } },
      simpleCall('a', 'gated', { n: 1 }),
      simpleCall('b', 'write_todos', { todos: [{ content: 'One', status: 'in_progress' }] }),
      simpleText('Done.'),
      simpleText('Done.'),
    ],
    tools: [countingTool('gated', { permission: 'ask' })],
    config: { planning: true },
  });
  await rig.run();
  rig.decide('a', { decision: 'approve' });
  expect(await rig.resume()).toMatchObject({ status: 'completed' });
  const types = new Set(rig.log.map(({ type }) => type));
  expect(types.size).toBeGreaterThan(14);
  expect([...types].filter((type) => !kebab.test(type))).toEqual([]);
  const log: JsonValue = JSON.parse(JSON.stringify(rig.log));
  expect([...new Set(keysOf(log))].filter((key) => !camel.test(key))).toEqual([]);
});
