import { createModelHealth, type ModelHealth } from './engine/model-health.ts';
import { createNativeAdapter, type HarnessTools } from './harnesses/native/native-adapter.ts';
import { createMemoryContent } from './runtimes/memory-content.ts';
import { createRedactor } from './core/redact.ts';
import { createRegistry, type HarnessRegistry } from './harnesses/registry.ts';
import { ConfigurationError } from './core/errors.ts';
import { defaultPolicies } from './engine/policies.ts';
import { nativeTools, type NativeTools } from './native-tools.ts';
import { join } from 'node:path';
import { noExtras, openForeign } from './open-foreign.ts';
import { openCatalogue } from './open-catalogue.ts';
import { secretsOf, type Config } from './config.ts';
import { silentLogger, type Logger } from './core/logger.ts';
import { systemClock, systemRandom } from './system.ts';
import type { Catalogue } from './engine/models/catalogue.ts';
import type { Clock } from './core/clock.ts';
import type { ContentStore } from './engine/content-store.ts';
import type { HarnessAdapter } from './harnesses/harness.ts';

/** The harnesses of a server, the preferred one first. @throws ConfigurationError  The preferred one is none of them. */
export function createHarnesses(
  config: Config,
  o: {
    readonly catalogue: Catalogue;
    readonly logger: Logger;
    readonly clock: Clock;
    readonly content: ContentStore;
    readonly tools: NativeTools;
    readonly adapters?: readonly HarnessAdapter[];
    readonly health?: ModelHealth;
    readonly harnessTools?: HarnessTools;
  },
): HarnessRegistry {
  const { catalogue, logger, clock, content, tools } = o;
  const native = createNativeAdapter(
    {
      clock,
      random: systemRandom,
      logger,
      policies: defaultPolicies,
      tools: tools.tools,
      sources: tools.sources,
      redact: createRedactor(secretsOf(config)),
      content,
      health: o.health ?? createModelHealth({ clock }),
      openModel: (ref) => catalogue.open(ref),
    },
    catalogue,
    o.harnessTools,
  );
  const adapters = [native, ...(o.adapters ?? [])];
  const { preferred } = config.harnesses;
  const bases = adapters.map(({ base }) => base);
  if (!bases.includes(preferred))
    throw new ConfigurationError(
      `'harnesses.preferred' in ${config.settingsFile} names '${preferred}'; this server has: ${bases.join(', ')}.`,
    );
  return createRegistry(adapters.toSorted((a, b) => Number(b.base === preferred) - Number(a.base === preferred)));
}

/** The harnesses that a server with these settings would have, to be asked about; none of them can work. */
export function openHarnesses(
  config: Config,
): AsyncDisposable & { readonly registry: HarnessRegistry; readonly catalogue: Catalogue } {
  const parts = { clock: systemClock, logger: silentLogger };
  const catalogue = openCatalogue(config, systemClock);
  const tools = nativeTools(config, { ...parts, random: systemRandom, cwd: config.server.dataDir });
  const foreign = openForeign(config, {
    ...parts,
    catalogue,
    extras: noExtras,
    root: join(config.server.dataDir, 'homes'),
  });
  const registry = createHarnesses(config, {
    ...parts,
    catalogue,
    tools,
    content: createMemoryContent(),
    adapters: foreign.adapters,
  });
  return {
    registry,
    catalogue,
    async [Symbol.asyncDispose]() {
      await foreign[Symbol.asyncDispose]();
      await tools[Symbol.asyncDispose]();
      await catalogue[Symbol.asyncDispose]();
    },
  };
}
