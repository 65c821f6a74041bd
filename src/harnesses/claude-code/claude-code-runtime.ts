import { createFinder } from '../foreign/find-runtime.ts';
import { programOf } from '../foreign/start-step.ts';
import { startClaudeCode } from './start.ts';
import type { Capabilities } from '../harness.ts';
import type { Clock } from '../../core/clock.ts';
import type { ForeignRuntime } from '../foreign/runtime.ts';
import type { Environment } from '../../process/child-environment.ts';
import type { Logger } from '../../core/logger.ts';
import type { Random } from '../../core/random.ts';

const label = 'Claude Code';
const tried = ['2.1.332'];

const capabilities: Capabilities = {
  text: 'stream',
  thinking: 'stream',
  toolInput: 'stream',
  approvals: 'every-call',
  questions: 'yes',
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
  mcp: ['http', 'sse', 'stdio'],
  skills: 'folder',
  servedModel: 'told',
  resets: 'told',
  sandbox: 'none',
};

export interface ClaudeCodeParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Of the server: of it, only how programs are found and networks reached goes on to the program. */
  readonly host: Environment;
  /** As the operator set it, absolute; null: `claude` on the path. */
  readonly path: string | null;
}

/** Claude Code as its own program, over its stream of JSON lines: a session is a process, kept for all of its turns. */
export function createClaudeCodeRuntime({ clock, random, host, path }: ClaudeCodeParts): ForeignRuntime {
  const probe = createFinder({
    clock,
    label,
    name: 'claude',
    path,
    host,
    marker: random.token(),
    versionArgs: ['--version'],
    versionIn: (text) => /^([\d.]+) \(Claude Code\)/m.exec(text)?.[1] ?? null,
    tried,
    install: `npm install --global --save-exact @anthropic-ai/claude-code@${tried[0]}`,
  });
  return {
    base: 'claude-code',
    label,
    capabilities,
    mcpTransports: ['http', 'sse', 'stdio'],
    providers: ['anthropic'],
    probe,
    async open(options) {
      return startClaudeCode({ program: programOf(await probe(), label), host }, options);
    },
  };
}
