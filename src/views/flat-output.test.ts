import { expect, test } from 'vitest';
import { flatOutput, flatten } from './flat-output.ts';

test('A-050: any value has its text', () => {
  for (const nothing of [undefined, null, '', ' \n\t', [], [null, ' ']]) expect(flatten(nothing)).toBe('');
  expect(flatten(' as it is\n')).toBe(' as it is\n');
  expect([flatten(0), flatten(1.5), flatten(false)]).toEqual(['0', '1.5', 'false']);
  expect(flatten(['a', [null, 'b'], { text: 'c' }, 4])).toBe('a\nb\nc\n4');
});

test('A-050: of an envelope its texts are told, of another object its text, its message, or itself', () => {
  const parts = [{ type: 'text', text: 'one' }, 'two', { type: 'text', text: '' }];
  expect(flatten({ content: parts, isError: false })).toBe('one\ntwo');
  const image = { type: 'image', data: 'AAAA' };
  expect(flatten({ content: [...parts, image], text: 'said' })).toBe('said');
  expect(flatten({ content: [], message: 'said' })).toBe('said');
  expect(flatten({ text: 7, message: 'said' })).toBe('said');
  expect(flatten({ content: [image] })).toBe('{"content":[{"type":"image","data":"AAAA"}]}');
  expect(flatten({ constructor: 1 })).toBe('{"constructor":1}');
});

test('A-050: JSON that a file or a command holds is its text; the envelope of a runtime is not', () => {
  const json = '{"content": ["./src/**"], "message": "x"}';
  expect(flatOutput('Read', json)).toBe(json);
  expect(flatOutput('bash', json)).toBe(json);
  expect(flatOutput('weather', json)).toBe('./src/**');
  const envelope = JSON.stringify({ content: [{ type: 'text', text: 'hi' }] });
  for (const name of ['Read', 'bash', 'weather']) expect(flatOutput(name, envelope)).toBe('hi');
  expect(flatOutput('weather', '{\n  "degrees": 7\n}')).toBe('{\n  "degrees": 7\n}');
  expect(flatOutput('weather', '{no json')).toBe('{no json');
  expect(flatOutput('weather', ' \n')).toBe('');
  expect(flatOutput('Read', '<tool_use_error>It is not there.</tool_use_error>')).toBe('It is not there.');
});
