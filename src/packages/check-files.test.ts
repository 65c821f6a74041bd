import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { checkFiles, pathFault, textAt, type FileFault, type SentFile } from './check-files.ts';
import { posix } from 'node:path';
import { RequestError } from '../core/errors.ts';

class Refused extends RequestError {
  readonly fault: FileFault;
  constructor(fault: FileFault) {
    super({ status: 400, errorType: 'invalid_request_error', code: 'invalid_input', message: fault.reason });
    this.fault = fault;
  }
}
const options = { maxBytes: 1000, refusal: (fault: FileFault) => new Refused(fault) };
const check = (...sent: readonly SentFile[]) => checkFiles(sent, options);
const at = (index: number, field: FileFault['field']) =>
  expect.objectContaining({ fault: expect.objectContaining({ index, field }) });

describe('U-121, UP-15: paths', () => {
  test.each(['SKILL.md', 'a/b/c.txt', 'räksmörgås.md', '.hidden', 'a b', '...', 'con'])('%j is one', (path) => {
    expect(pathFault(path)).toBeNull();
  });

  test.each(
    [
      ['', '/etc/passwd', '../up', 'a/../../up', './a', 'a/./b', 'a//b', 'a/', 'C:/x', 'c:x', 'a\\b', 'a\0', 'a\nb'],
      ['a'.repeat(256), 'ä'.repeat(128), 'a/'.repeat(40) + 'a'],
    ].flat(),
  )('%j is none', (path) => {
    expect(pathFault(path)).toMatch(/\.$/);
  });

  test('whatever is accepted stays below the folder that it is put in', () => {
    const segment = fc.oneof(fc.constantFrom('..', '.', '', 'a', '\\', '/', '..\\', 'C:'), fc.string());
    fc.assert(
      fc.property(
        fc.array(segment, { maxLength: 5 }).map((all) => all.join('/')),
        (path) => {
          if (pathFault(path) === null) expect(posix.join('/root', path)).toBe(`/root/${path}`);
        },
      ),
    );
  });

  test('two files at one place are refused, also where only a case or a folder tells them apart', () => {
    const file = (path: string) => ({ path, content: '' });
    expect(() => check(file('a'), file('a'))).toThrow(at(1, 'path'));
    expect(() => check(file('README'), file('Readme'))).toThrow(at(1, 'path'));
    expect(() => check(file('é'), file('e\u0301'))).toThrow(at(1, 'path'));
    expect(() => check(file('a'), file('a/b'))).toThrow(at(1, 'path'));
    expect(() => check(file('a/b'), file('a'))).toThrow(at(1, 'path'));
    expect(check(file('a/b'), file('a/c'), file('b'))).toHaveLength(3);
  });

  test('more files than can be looked at are refused', () => {
    const many = Array.from({ length: 10_001 }, (_, index) => ({ path: String(index), content: '' }));
    expect(() => check(...many)).toThrow(at(10_000, 'path'));
  });
});

describe('UD-40: content', () => {
  test('one of text and base64, neither less nor more', () => {
    expect(() => check({ path: 'a' })).toThrow(at(0, 'content'));
    expect(() => check({ path: 'a', content: '', content_b64: '' })).toThrow(at(0, 'content'));
    expect(check({ path: 'a', content: '', content_b64: null })).toEqual([{ path: 'a', content: '' }]);
  });

  test.each(['AA', 'AA=', 'A A=', 'AA==\n', 'AB==', '-_8=', '====', 'ä'])('%j is no base64', (content_b64) => {
    expect(() => check({ path: 'a', content_b64 })).toThrow(at(0, 'content_b64'));
  });

  test('U-121: text and bytes come back as they were sent', () => {
    const bytes = fc.uint8Array({ maxLength: 40 }).map((each) => Buffer.from(each).toString('base64'));
    fc.assert(
      fc.property(bytes, fc.string({ maxLength: 40 }), (content_b64, content) => {
        const sent = [
          { path: 'b', content_b64 },
          { path: 'a', content },
        ];
        expect(checkFiles(sent, options)).toEqual(sent);
      }),
    );
  });

  test('UD-63: the cap is on all bytes together, base64 counted as what it stands for', () => {
    const half = { path: 'a', content_b64: Buffer.alloc(500).toString('base64') };
    expect(check(half, { path: 'b', content: 'x'.repeat(500) })).toHaveLength(2);
    const over = () => check(half, { path: 'b', content: `${'x'.repeat(499)}é` });
    expect(over).toThrow(expect.objectContaining({ status: 413, code: 'file_too_large', detail: { max_bytes: 1000 } }));
  });
});

test('text is read from either form, without its mark; bytes that are none are told', () => {
  const files = check(
    { path: 'a', content: '\uFEFFx' },
    { path: 'b', content_b64: Buffer.from('\uFEFFy').toString('base64') },
    { path: 'c', content_b64: '/w==' },
  );
  expect(['a', 'b', 'c', 'd'].map((path) => textAt(files, path))).toEqual(['x', 'y', null, undefined]);
});
