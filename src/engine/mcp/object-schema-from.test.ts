import { Ajv } from 'ajv';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { toJsonValue } from '../../core/json.ts';
import { objectSchemaFrom } from './object-schema-from.ts';

test('an object schema stays as it is, but for the dialect and id at its top', () => {
  const schema = {
    type: 'object',
    properties: { a: { anyOf: [{ type: 'string' }, { type: 'null' }] }, b: { $ref: '#/$defs/b' } },
    required: ['a'],
    additionalProperties: false,
    $defs: { b: { type: 'number' } },
  };
  const sent = { $schema: 'https://json-schema.org/draft/2020-12/schema', $id: 'x', ...schema };
  expect(objectSchemaFrom(sent)).toEqual(schema);
  const check = new Ajv({ strict: false }).compile(objectSchemaFrom(sent));
  expect([check({ a: null, b: 1 }), check({ a: null, b: '1' }), check({})]).toEqual([true, false, false]);
});

test.each([null, true, 'x', [], {}, { type: 'string' }, { type: ['object', 'null'], properties: [] }])(
  'what is no object schema becomes one: %j',
  (schema) => {
    expect(objectSchemaFrom(schema)).toEqual({ type: 'object', properties: {} });
  },
);

test('a union at the top becomes the properties of its variants', () => {
  const variant = (kind: string, more: object) => ({
    properties: { kind: { const: kind }, ...more },
    required: ['kind'],
  });
  const schema = toJsonValue({ oneOf: [variant('a', { x: { type: 'number' } }), variant('b', {}), true] });
  expect(objectSchemaFrom(schema)).toEqual({
    type: 'object',
    properties: { kind: { anyOf: [{ const: 'a' }, { const: 'b' }] }, x: { type: 'number' } },
  });
});

test('whatever is sent becomes an object schema without a union at the top', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const schema = objectSchemaFrom(toJsonValue(value));
      expect(schema).toMatchObject({ type: 'object', properties: expect.any(Object) });
      expect(Object.keys(schema)).not.toContain('anyOf');
    }),
  );
});
