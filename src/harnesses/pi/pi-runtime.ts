import { commandOf } from '../foreign/command-of.ts';
import { createFinder } from '../foreign/find-runtime.ts';
import { PiSession } from './control.ts';
import { programOf } from '../foreign/start-step.ts';
import { startPi } from './start.ts';
import type { Capabilities } from '../harness.ts';
import type { Clock } from '../../core/clock.ts';
import type { ForeignRuntime } from '../foreign/runtime.ts';
import type { Environment } from '../../process/child-environment.ts';
import type { Logger } from '../../core/logger.ts';
import type { Random } from '../../core/random.ts';

export interface PiParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly host: Environment;
  /** The program, or its script, as the operator set it; null: as found on the path. */
  readonly path: string | null;
}

const label = 'Pi';
const tried = '1.6.0';

const capabilities: Capabilities = {
  text: 'stream',
  thinking: 'stream',
  toolInput: 'stream',
  approvals: 'every-call',
  questions: 'no',
  steer: 'next-step',
  cancel: 'in-band',
  resume: 'chosen-id',
  disabledTools: 'block',
  maxStep: 'exact',
  usage: 'per-step',
  denial: 'goes-on',
  tree: 'proven',
  fork: 'no',
  compact: 'no',
  hostTools: 'no',
  mcp: ['http', 'stdio'],
  skills: 'folder',
  servedModel: 'told',
  resets: 'told',
  sandbox: 'none',
};

/** Pi as a child process in RPC mode, one a session (H-500). */
export function createPiRuntime({ clock, random, host, path }: PiParts): ForeignRuntime {
  const probe = createFinder({
    clock,
    label,
    name: 'pi',
    path,
    host,
    marker: random.token(),
    commandOf,
    versionArgs: ['--version'],
    versionIn: (text) => /^(\d+\.\d+\.\d+\S*)\s*$/m.exec(text)?.[1] ?? null,
    tried: [tried],
    install: `npm install -g --save-exact @earendil-works/pi-coding-agent@${tried}`,
  });
  return {
    base: 'pi',
    label,
    capabilities,
    mcpTransports: ['http', 'stdio'],
    providers: ['anthropic', 'openai', 'openai-compatible'],
    probe,
    async open(options) {
      const status = await probe();
      const { version } = status;
      const session = new PiSession(await startPi(options, { path: programOf(status, label), version, host }), options);
      options.lease.onFact((fact) => session.hearRelay(fact));
      return session;
    },
  };
}
