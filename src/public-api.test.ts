import { expect, test } from 'vitest';

test('the root entry exports these names and no others', async () => {
  expect(Object.keys(await import('./index.ts')).toSorted()).toEqual([
    'ConfigurationError',
    'ReinsError',
    'RequestError',
    'createAgent',
    'createServer',
    'loadConfig',
    'verdictOf',
  ]);
});

test('reins/testing exports these names and no others', async () => {
  expect(Object.keys(await import('./testing/index.ts')).toSorted()).toEqual([
    'checkLog',
    'createEngineRig',
    'createManualClock',
    'createScriptedModel',
    'describeStoreContract',
    'simpleCall',
    'simpleText',
    'startModelServer',
  ]);
});
