// Runtimes that do what none should, as programs behind the real adapters: H-942. Each act is in `support/stub-programs.ts`.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { answerOf, type Body } from './support/event-stream.ts';
import { ended, finalOf, whole } from './support/uhp.ts';
import { eventually } from './support/asking-server.ts';
import { join } from 'node:path';
import { placeStubs, processesOf, stubBases, type StubBase } from './support/stub-programs.ts';
import { startServer, type TestServer } from './support/server.ts';
import { temporaryFolder } from './support/folders.ts';
import type { Logger } from '../src/core/logger.ts';

const data = temporaryFolder();
const logged: string[] = [];
const note = (...said: readonly unknown[]) => void logged.push(JSON.stringify(said));
const logger: Logger = { info: note, warn: note, error: note };
let server: TestServer;
const harnessOf = new Map<string, string>();

beforeAll(async () => {
  const { harnesses } = placeStubs(join(data, 'stubs'), { firstSeconds: 4, modelSeconds: 4, toolSeconds: 4 });
  const env = { OPENAI_API_KEY: 'k', OPENAI_BASE_URL: 'http://127.0.0.1:9/v1', ANTHROPIC_API_KEY: 'k' };
  server = await startServer({ data, env, settings: { harnesses }, logger });
  for (const base of stubBases) {
    const { body } = await server.uhp.send('POST', '/v1/harnesses', { body: { base, name: base } });
    harnessOf.set(base, body.id);
  }
});
afterAll(() => server[Symbol.asyncDispose]());

const models: Readonly<Record<StubBase, string>> = {
  'claude-code': 'anthropic/test-model',
  codex: 'openai/test-model',
  pi: 'openai/test-model',
  'acp-stub': 'openai/test-model',
};
const ask = (base: StubBase, act: string) => ({
  input: `Now ${act}`,
  model: models[base],
  metadata: { harness_id: harnessOf.get(base) },
});
const run = async (base: StubBase, act: string, more: object = {}): Promise<Body> =>
  (await server.uhp.create({ ...ask(base, act), ...more })).body;
const left = ({ metadata }: Body) => processesOf(data, metadata.session_id);
const seen = ({ status, error }: Body) => [status, error?.code ?? null, error?.message ?? null];

describe.each(stubBases)('%s', (base) => {
  test.concurrent('probe', async () => {
    expect(seen(await run(base, 'fine'))).toEqual(['completed', null, null]);
  });
});
