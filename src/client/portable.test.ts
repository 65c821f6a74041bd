import { globSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const files = globSync('src/client/**/*.ts', { exclude: ['**/*.test.ts'] });
const withoutComments = (file: string) => readFileSync(file, 'utf8').replaceAll(/\/\/.*|\/\*[\s\S]*?\*\//g, '');

test('the client runs in browsers: it loads its own files, one parser of event streams, and nothing else', () => {
  const imports = files.flatMap((file) =>
    [...withoutComments(file).matchAll(/^(import|export) ?(type)?[^;]*?from '([^']+)'/gm)].map(
      ([, , type, target]) => ({
        file,
        isType: type === 'type',
        target: target ?? '',
      }),
    ),
  );
  expect(imports.length).toBeGreaterThan(50);
  const loaded = imports.filter(({ isType }) => !isType).filter(({ target }) => !target.startsWith('./'));
  expect(loaded.map(({ target }) => target)).toEqual(['eventsource-parser']);
  const types = imports.filter(({ isType, target }) => isType && !target.startsWith('./'));
  expect(types.filter(({ target }) => !/^\.\.\/(core|protocol\/(uhp|agent))\//.test(target))).toEqual([]);
});

test('it names nothing that only Node has, or that Node 20 and Safari lack', () => {
  const foreign =
    /\bprocess\.|\bBuffer\b|\brequire\(|node:|import\(|fromAsync|withResolvers|await using|AbortSignal\.timeout|randomUUID/;
  expect(files.filter((file) => foreign.test(withoutComments(file)))).toEqual([]);
});

test('streams are read by readers: Safari cannot iterate over them', () => {
  expect(files.filter((file) => /for await \([^)]*\.body\)/.test(withoutComments(file)))).toEqual([]);
});

test('reins/client exports these names and no others', async () => {
  expect(Object.keys(await import('./index.ts')).toSorted()).toEqual([
    'AuthenticationError',
    'ConflictError',
    'ConnectionError',
    'IdempotencyMismatchError',
    'InvalidRequestError',
    'NotCompletedError',
    'NotFoundError',
    'PermissionError',
    'ProtocolError',
    'QuotaError',
    'RateLimitError',
    'ServerError',
    'SessionBusyError',
    'TimeoutError',
    'UhpError',
    'connect',
  ]);
});
