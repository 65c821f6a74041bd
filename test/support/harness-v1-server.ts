// A server whose preferred harness is a `HarnessV1` adapter: everything of the real thing but the adapter's own package.

import { createForeignAdapter } from '../../src/harnesses/foreign/foreign-adapter.ts';
import { createProcessPool } from '../../src/harnesses/foreign/process-pool.ts';
import { createHomes } from '../../src/harnesses/foreign/homes.ts';
import { fromHarnessV1, type FromHarnessV1Options } from '../../src/harnesses/harness-v1/from-harness-v1.ts';
import { join } from 'node:path';
import { judgeCall, noExtras } from '../../src/open-foreign.ts';
import { openRelay } from '../../src/harnesses/relay/relay.ts';
import { silentLogger } from '../../src/core/logger.ts';
import { startServer } from './server.ts';
import { systemClock, systemRandom } from '../../src/system.ts';
import type { HarnessV1 } from '../../src/harnesses/harness-v1/harness-v1.ts';

export interface HarnessV1ServerOptions extends FromHarnessV1Options {
  readonly data: string;
  readonly approvals?: object;
  /** Where the relay's calls go. */
  readonly upstream?: string;
  readonly model?: string;
}

export async function startHarnessV1Server(v1: HarnessV1, o: HarnessV1ServerOptions) {
  const { data, model = 'test-model', upstream = 'http://127.0.0.1:9', approvals } = o;
  const [clock, random, logger] = [systemClock, systemRandom, silentLogger];
  const upstreams = { openai: { baseURL: upstream, apiKey: 'key' } };
  const relay = await openRelay({ upstreams, clock, random, logger });
  const ref = { provider: 'openai', model };
  const runtime = fromHarnessV1(v1, { providers: ['openai'], ...o })({ host: process.env });
  const adapter = createForeignAdapter(runtime, {
    clock,
    random,
    logger,
    homes: createHomes({ root: join(data, 'homes'), clock, random }),
    models: {
      list: () => [{ id: model, label: 'Test', available: true, why: 'It is always there.' }],
      choose: () => ({ available: true, id: model, ref }),
      nativeName: (each) => each.model,
    },
    relay: async () => relay,
    pool: createProcessPool({ max: 100, maxIdle: 4, maxParked: 4, maxWaiting: 4, waitSeconds: 60 }, { clock }),
    watch: null,
    judge: judgeCall,
    extras: noExtras,
    warm: { idleSeconds: 60, parkSeconds: 60 },
    silence: { firstSeconds: 10, modelSeconds: 10, toolSeconds: 10 },
  });
  const settings = { harnesses: { preferred: runtime.base }, ...(approvals === undefined ? {} : { approvals }) };
  const server = await startServer({ data, settings, adapters: [adapter] });
  return {
    uhp: server.uhp,
    runtime,
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      await adapter[Symbol.asyncDispose]();
      await relay[Symbol.asyncDispose]();
    },
  };
}
