import { AcpSession } from './control.ts';
import { programOf } from '../foreign/start-step.ts';
import { startAcp } from './start.ts';
import type { AcpProfile } from './acp-profile.ts';
import type { Capabilities } from '../harness.ts';
import type { Clock } from '../../core/clock.ts';
import type { ForeignRuntime } from '../foreign/runtime.ts';
import type { Environment } from '../../process/child-environment.ts';
import type { Logger } from '../../core/logger.ts';
import type { Random } from '../../core/random.ts';

export interface AcpParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly host: Environment;
  /** The program as the operator set it; null: as found on the path. */
  readonly path: string | null;
}

/** An agent that speaks the Agent Client Protocol, version 1, over its standard streams: one process a session (H-600). */
export function createAcpRuntime(profile: AcpProfile): ForeignRuntime {
  const { base, label, providers, auxiliaryModels = [], mcpTransports, dialect } = profile;
  let capabilities: Capabilities = profile.capabilities;
  return {
    base,
    label,
    providers,
    auxiliaryModels,
    ...(mcpTransports === undefined ? {} : { mcpTransports }),
    get capabilities() {
      return capabilities;
    },
    probe: () => profile.probe(),
    async open(options) {
      const status = await profile.probe();
      const started = await startAcp(profile, { path: programOf(status, label), version: status.version }, options);
      // What nobody has tried is known by what the agent declares (H-014).
      if (started.abilities['loadSession'] === true) capabilities = { ...capabilities, resume: 'own-id' };
      const session = new AcpSession(started, { dialect, canSteer: capabilities.steer !== 'none', options });
      options.lease.onFact((fact) => session.hearRelay(fact));
      return session;
    },
  };
}
