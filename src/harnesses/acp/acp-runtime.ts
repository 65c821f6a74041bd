import { AcpSession } from './control.ts';
import { RuntimeFault, type ForeignRuntime } from '../foreign/runtime.ts';
import { startAcp } from './start.ts';
import type { AcpProfile } from './acp-profile.ts';
import type { Capabilities } from '../harness.ts';
import type { Clock } from '../../core/clock.ts';
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
export function createAcpRuntime(profile: AcpProfile, { logger }: Pick<AcpParts, 'logger'>): ForeignRuntime {
  const { base, label, providers, mcpTransports, dialect } = profile;
  let capabilities: Capabilities = profile.capabilities;
  return {
    base,
    label,
    providers,
    ...(mcpTransports === undefined ? {} : { mcpTransports }),
    get capabilities() {
      return capabilities;
    },
    probe: () => profile.probe(),
    async open(options) {
      const { path, version, problem } = await profile.probe();
      if (path === null || problem !== null) {
        const message = problem?.message ?? `${label} is not installed.`;
        throw new RuntimeFault({ type: 'AgentUnavailableError', message, retryable: false });
      }
      const started = await startAcp(profile, path, options);
      try {
        await options.remember({ nativeId: started.nativeId, version: started.version ?? version });
      } catch (cause) {
        await started.process.stop();
        throw cause;
      }
      // What nobody has tried is known by what the agent declares (H-014).
      if (started.abilities['loadSession'] === true) capabilities = { ...capabilities, resume: 'own-id' };
      const session = new AcpSession(started, { dialect, canSteer: capabilities.steer !== 'none', logger });
      options.lease.onFact((fact) => session.hearRelay(fact));
      return session;
    },
  };
}
