import { describe, expect, expectTypeOf, test } from 'vitest';
import { z } from 'zod';
import { ConfigurationError } from '../core/errors.ts';
import { toolContext } from '../testing/tool-context.ts';
import { createToolbox } from './prepare-call.ts';
import { defineTool } from './define-tool.ts';
import type { JsonObject, JsonValue } from '../core/json.ts';
import type { Tool, ToolOutput } from './tool.ts';

const call = (tool: Tool, input: JsonValue) => tool.run(input, toolContext());
const description = 'A tool.';
const giving = (value: () => unknown) => defineTool({ name: 'give', description, input: z.object({}), run: value });

describe('input', () => {
  test('is typed by the schema and parsed by it: defaults and transforms are applied', async () => {
    const tool = defineTool({
      name: 'add',
      description,
      input: z.object({ at: z.string().transform((text) => new Date(text)), days: z.int().default(1) }),
      run({ at, days }, { executionKey }) {
        expectTypeOf(at).toEqualTypeOf<Date>();
        expectTypeOf(days).toEqualTypeOf<number>();
        expectTypeOf(executionKey).toEqualTypeOf<string>();
        return new Date(at.getTime() + days * 86_400_000);
      },
    });
    expect(await call(tool, { at: '2026-01-01T00:00:00Z' })).toEqual({ content: '"2026-01-02T00:00:00.000Z"' });
    expect(tool.inputSchema).toMatchObject({
      type: 'object',
      properties: { at: { type: 'string' }, days: { type: 'integer', default: 1 } },
      required: ['at'],
    });
  });

  test('of a JSON Schema object is the JSON itself', async () => {
    const inputSchema = { type: 'object', properties: { a: { type: 'number' } }, required: ['a'] };
    const tool = defineTool({
      name: 'echo',
      description,
      input: inputSchema,
      run: (input) => {
        expectTypeOf(input).toEqualTypeOf<JsonObject>();
        return input;
      },
    });
    expect(tool.inputSchema).toEqual(inputSchema);
    expect(await call(tool, { a: 1 })).toEqual({ content: '{"a":1}' });
  });

  test('of any Standard Schema that has a JSON Schema is typed and parsed alike', async () => {
    const validate = async (value: unknown) => ({ value: [value] });
    const schema = { '~standard': { validate, jsonSchema: { input: () => ({ type: 'object' }) } } };
    const tool = defineTool({
      name: 'other',
      description,
      input: schema,
      run(input) {
        expectTypeOf(input).toEqualTypeOf<unknown[]>();
        return input;
      },
    });
    expect(await call(tool, { a: 1 })).toEqual({ content: '[{"a":1}]' });
  });

  test('E-513: what only zod can refuse is an error result, one line with the first bad path; the handler does not run', async () => {
    const tool = defineTool({
      name: 'book',
      description,
      input: z.object({ seats: z.array(z.object({ row: z.string().refine((row) => row !== 'X', 'no such\nrow.') })) }),
      run: () => expect.unreachable(),
    });
    const input = { seats: [{ row: 'A' }, { row: 'X' }] };
    const toolbox = createToolbox([tool]);
    const prepared = await toolbox.prepare({ id: '1', name: 'book', arguments: JSON.stringify(input) });
    expect(prepared.verdict).toBe('run');
    expect(await call(tool, input)).toEqual({
      content: "Invalid arguments for 'book': seats.1.row: no such row.",
      isError: true,
    });
  });

  test('E-511, E-513: the engine checks against the JSON Schema of zod before', async () => {
    const tool = defineTool({ name: 'n', description, input: z.object({ n: z.number().max(3) }), run: ({ n }) => n });
    const toolbox = createToolbox([tool]);
    expect(await toolbox.prepare({ id: '1', name: 'n', arguments: '{"n":4}' })).toMatchObject({
      verdict: 'refuse',
      content: "Invalid arguments for 'n': n must be <= 3.",
    });
    expect(await toolbox.prepare({ id: '1', name: 'n', arguments: '' })).toMatchObject({ verdict: 'refuse' });
  });
});

describe('what the handler gives', () => {
  test('B016, E-551: any value is safe JSON text, at once or later', async () => {
    const cycle: { self?: unknown; big: bigint } = { big: 1n };
    cycle.self = cycle;
    for (const [value, content] of [
      ['plain \ud800', 'plain \ufffd'],
      [undefined, '(no output)'],
      [null, 'null'],
      [12n, '"12"'],
      [NaN, 'null'],
      [cycle, '{"big":"1","self":"[circular]"}'],
      [{ content: 'a', title: 'b' }, '{"content":"a","title":"b"}'],
    ]) {
      expect(
        await call(
          giving(() => value),
          {},
        ),
      ).toEqual({ content });
      expect(
        await call(
          giving(async () => value),
          {},
        ),
      ).toEqual({ content });
    }
  });

  test('a ToolOutput is given on, with well-formed text', async () => {
    const output: ToolOutput = {
      content: '\udc00',
      isError: true,
      media: [{ mediaType: 'image/png', data: new Uint8Array(1) }],
    };
    expect(
      await call(
        giving(() => output),
        {},
      ),
    ).toEqual({ ...output, content: '\ufffd' });
  });

  test('E-534: what it throws, also synchronously, is the rejection of the call', async () => {
    const fail = () => {
      throw new Error('no');
    };
    await expect(call(giving(fail), {})).rejects.toThrow('no');
  });
});

describe('a definition', () => {
  test('keeps its policies', () => {
    const policies = {
      useKind: 'network',
      permission: 'ask',
      replay: 'idempotent',
      onUnknown: 'park',
      concurrent: false,
      timeoutSeconds: null,
      retry: { attempts: 3, backoffSeconds: 1, maxBackoffSeconds: 9, retryErrorResults: false },
    } as const;
    const { inputSchema, run, ...kept } = defineTool({
      name: 'a',
      description,
      input: z.object({}),
      run() {},
      ...policies,
    });
    expect(kept).toEqual({ name: 'a', description, ...policies });
    expect(inputSchema).toMatchObject({ type: 'object' });
    expect(run).toBeTypeOf('function');
  });

  test('E-020: that no model could call is refused where it is given', () => {
    const run = () => {};
    for (const name of ['', 'a b', 'ä', 'x'.repeat(65), 'a\n'])
      expect(() => defineTool({ name, description, input: z.object({}), run })).toThrow(ConfigurationError);
    for (const input of [z.string(), z.object({ at: z.date() }), { type: 'string' }])
      expect(() => defineTool({ name: 'a', description, input: input as JsonObject, run })).toThrow(ConfigurationError);
  });
});
