import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';

test('the root entry exports these names and no others', async () => {
  expect(Object.keys(await import('./index.ts')).toSorted()).toEqual([
    'ApprovalClosedError',
    'ApprovalConflictError',
    'ConfigurationError',
    'CursorError',
    'IdempotencyConflictError',
    'PartsLogError',
    'ReinsError',
    'RequestError',
    'RunAwaitingInput',
    'RunCancelled',
    'RunError',
    'RunFailed',
    'RunLimitReached',
    'RunRefused',
    'RunResult',
    'RunTruncated',
    'RuntimeStateError',
    'SessionBusyError',
    'StorageError',
    'TransientToolError',
    'UnknownExecutionKey',
    'createAgent',
    'createPartsLog',
    'createPartsView',
    'createRuntime',
    'createServer',
    'defineTool',
    'fromHarnessV1',
    'isOfLog',
    'loadConfig',
    'toHarnessV1',
    'verdictOf',
  ]);
});

test('reins/testing exports these names and no others', async () => {
  expect(Object.keys(await import('./testing/index.ts')).toSorted()).toEqual([
    'RecordingError',
    'checkLog',
    'createClientModel',
    'createEngineRig',
    'createManualClock',
    'createScriptedModel',
    'readRecording',
    'simpleCall',
    'simpleText',
    'startModelServer',
  ]);
});

test('what the root entry loads at once is installed with the package, and no optional part of it', () => {
  const { dependencies } = JSON.parse(readFileSync('package.json', 'utf8')) as { dependencies: Record<string, string> };
  const known = new Set(Object.keys(dependencies));
  const foreign = [...loadedBy('src/index.ts')].filter(
    (name) => !name.startsWith('node:') && !known.has(packageOf(name)),
  );
  expect(foreign).toEqual([]);
});

test('a program that only runs agents loads no HTTP stack', () => {
  expect([...loadedBy('src/index.ts')]).not.toContain('fastify');
});

/** Names of the packages that a file and all it imports import, types and late imports left out. */
function loadedBy(file: string, seen = new Set<string>(), found = new Set<string>()): ReadonlySet<string> {
  if (seen.has(file)) return found;
  seen.add(file);
  for (const [, target = ''] of readFileSync(file, 'utf8').matchAll(
    /^(?:import|export) (?!type )[^;]*?from '([^']+)'/gm,
  ))
    if (target.startsWith('.')) loadedBy(join(dirname(file), target), seen, found);
    else found.add(target);
  return found;
}

function packageOf(name: string): string {
  return name.split('/', name.startsWith('@') ? 2 : 1).join('/');
}
