// A program that takes more of the machine than it may, behind a real adapter.

import { answerOf } from './support/event-stream.ts';
import { endingOf, fine, startStubServer } from './support/stub-server.ts';
import { eventually } from './support/asking-server.ts';
import { expect, test, vi } from 'vitest';

vi.setConfig({ testTimeout: 30_000 });

test.skipIf(process.platform !== 'linux')(
  'a runtime that uses more memory than it may is ended whole, the task says which limit it was, and the next task works',
  async () => {
    await using server = await startStubServer({ harnesses: { memoryBytes: 300 << 20 } });
    const grown = await server.run('acp-stub', 'grows');
    const why = 'stub used more than 300 MiB of memory and was stopped.';
    expect(endingOf(grown)).toEqual(['failed', 'harness_error', why]);
    expect(answerOf(grown)).toBe('so far');
    await eventually(async () => (await server.left(grown)).length === 0 || undefined);
    expect(server.logged.some((entry) => entry.includes('used more than 300 MiB'))).toBe(true);
    expect(endingOf(await server.goOn('acp-stub', grown, 'fine'))).toEqual(fine);
  },
);
