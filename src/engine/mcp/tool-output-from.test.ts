import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { toJsonValue } from '../../core/json.ts';
import { isRateLimit } from './rate-limit.ts';
import { toolOutputFrom } from './tool-output-from.ts';

test('each kind of content is read, text in order, and unknown kinds as they are', () => {
  const content = [
    { type: 'text', text: 'one' },
    { type: 'audio', mimeType: 'audio/wav', data: 'AQ==' },
    { type: 'resource', resource: { uri: 'file:///a', text: 'two' } },
    { type: 'resource', resource: { uri: 'file:///b', blob: 'Ag==' } },
    { type: 'resource_link', name: 'c', uri: 'file:///c' },
    { type: 'later', value: 1 },
    'no block',
  ];
  expect(toolOutputFrom({ content, structuredContent: { ignored: true } })).toEqual({
    content: 'one\ntwo\nc file:///c\n{"type":"later","value":1}',
    media: [
      { mediaType: 'audio/wav', data: Uint8Array.of(1) },
      { mediaType: 'application/octet-stream', data: Uint8Array.of(2) },
    ],
  });
});

test('an empty result says so', () => {
  expect(toolOutputFrom({ content: [], isError: false })).toEqual({ content: '[The tool gave no output.]' });
});

test('whatever a server sends is an output', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.constantFrom('content', 'structuredContent', 'isError'), fc.jsonValue()), (result) => {
      expect(typeof toolOutputFrom(JSON.parse(JSON.stringify(result))).content).toBe('string');
      expect(toJsonValue(toolOutputFrom(JSON.parse(JSON.stringify(result))))).toBeTypeOf('object');
    }),
  );
});

describe('E-903: a rate limit inside a success', () => {
  test.each([
    { content: 'Rate limit exceeded, wait 20 s', isError: true },
    { content: 'upstream said 429', isError: true },
    { content: 'Error: HTTP 429 Too Many Requests' },
    { content: '{"error":{"code":429,"message":"slow down"}}' },
    { content: '{"status":"429"}' },
  ])('is seen: %j', (output) => expect(isRateLimit(output)).toBe(true));

  test.each([
    { content: 'How to handle a rate limit: status 429 means…' },
    { content: 'Issue 429 is open', isError: true as const, long: true },
    { content: '{"id":429}' },
    { content: 'No such file', isError: true },
  ])('a result that only speaks of one is none: %j', ({ content, isError, ...rest }) => {
    const text = 'long' in rest ? content + ' '.repeat(1000) : content;
    expect(isRateLimit({ content: text, ...(isError === undefined ? {} : { isError }) })).toBe(false);
  });
});
