import { basename, dirname, join } from 'node:path';
import { codexEnvironment } from './start.ts';
import { createFinder } from '../foreign/find-runtime.ts';
import { directModel } from './direct-model.ts';
import { globSync, realpathSync } from 'node:fs';
import { openCodex } from './control.ts';
import { runProcess } from '../../process/run-process.ts';
import { RuntimeFault, type ForeignRuntime, type OpenNative } from '../foreign/runtime.ts';
import { writeFile } from 'node:fs/promises';
import type { Capabilities } from '../harness.ts';
import type { Clock } from '../../core/clock.ts';
import type { Environment } from '../../process/child-environment.ts';
import type { Logger } from '../../core/logger.ts';
import type { Random } from '../../core/random.ts';
import type { SandboxMode } from './thread-settings.ts';

const label = 'Codex';
const tried = '0.171.0';

const capabilities: Capabilities = {
  text: 'stream',
  thinking: 'stream',
  toolInput: 'whole',
  approvals: 'every-call',
  questions: 'yes',
  // While it speaks, a message cuts its reply.
  steer: 'next-step',
  cancel: 'in-band',
  resume: 'own-id',
  disabledTools: 'partly',
  maxStep: 'exact',
  usage: 'per-step',
  denial: 'goes-on',
  tree: 'proven',
  fork: 'no',
  compact: 'no',
  hostTools: 'no',
  mcp: ['http', 'stdio'],
  skills: 'folder',
  servedModel: 'relay',
  resets: 'told',
  sandbox: 'own',
};

/** OpenAI's Codex, by its app server. @param parts  `path` as the operator set it, absolute; null: as found on the path. */
export function createCodexRuntime(parts: {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly host: Environment;
  readonly path: string | null;
}): ForeignRuntime {
  const { clock, random, logger, host, path } = parts;
  const probe = createFinder({
    clock,
    label,
    name: 'codex',
    path,
    host,
    marker: random.token(),
    versionArgs: ['--version'],
    // It makes its folder even then, where it may.
    env: { CODEX_HOME: '/dev/null' },
    versionIn: (text) => /^codex-cli (\S+)/m.exec(text)?.[1] ?? null,
    tried: [tried],
    install: `npm install --global @openai/codex@${tried}`,
  });
  let sandbox: SandboxMode | null = null;
  return {
    base: 'codex',
    label,
    capabilities,
    mcpTransports: ['http', 'stdio'],
    providers: ['openai'],
    probe,
    async open(open) {
      const status = await probe();
      if (status.problem !== null || status.path === null) {
        throw unavailable(status.problem?.message ?? `${label} is not there.`);
      }
      const program = programBehind(status.path);
      const around = { open, host, logger };
      sandbox ??= await sandboxOf(program, around);
      return openCodex({ open, program, host, sandbox, catalogue: await placeCatalogue(program, around) });
    },
  };
}

const unavailable = (message: string) => new RuntimeFault({ type: 'AgentUnavailableError', message, retryable: false });

/** What npm puts on the path is a script that starts the program and stays; the program itself needs no script. */
function programBehind(path: string): string {
  const script = realpathSync(path);
  if (basename(script) !== 'codex.js') return path;
  const cwd = dirname(dirname(script));
  const [found] = globSync('{..,node_modules/@openai}/codex-*/vendor/*/bin/codex{,.exe}', { cwd });
  return found === undefined ? path : realpathSync(`${cwd}/${found}`);
}

interface Around {
  readonly open: OpenNative;
  readonly host: Environment;
  readonly logger: Logger;
}

/** Where the system lets no program build a sandbox, Codex would fail every command; then our permissions stand alone (H-401). */
async function sandboxOf(program: string, around: Around): Promise<SandboxMode> {
  if ((await printedBy(program, ['sandbox', '--', 'true'], around)) !== null) return 'workspace-write';
  around.logger.warn('The sandbox of Codex does not work on this machine; its commands run without it.');
  return 'danger-full-access';
}

/** The file with the entry of a model that has to be kept from writing programs; null: it needs none. */
async function placeCatalogue(program: string, around: Around): Promise<string | null> {
  const { open, logger } = around;
  const printed = await printedBy(program, ['debug', 'models', '--bundled'], around);
  if (printed === null) logger.warn('Codex does not tell its models; one that writes programs cannot be kept from it.');
  const entry = directModel(printed ?? '', open.model);
  if (entry === null) return null;
  const file = join(open.home, 'reins-models.json');
  await writeFile(file, JSON.stringify({ models: [entry] }), { mode: 0o600 });
  return file;
}

/** What it says until it ends, which it does at once; null: it failed. */
async function printedBy(program: string, args: readonly string[], { open, host }: Around): Promise<string | null> {
  const chunks: Uint8Array[] = [];
  const { end } = await runProcess({
    clock: open.clock,
    program,
    args,
    // What lies in the workspace is none of its configuration (H-084).
    cwd: open.home,
    env: codexEnvironment(host, open),
    marker: open.marker,
    signal: open.signal,
    timeoutMs: 10_000,
    graceMs: 0,
    onOutput: (chunk) => chunks.push(chunk),
  });
  if (end.how === 'cancelled') throw unavailable(`${label} was stopped while it started.`);
  // A busy machine is no ground to do without a sandbox: the next start asks again.
  if (end.how === 'timed-out') throw unavailable(`${label} did not answer within 10 s while it started.`);
  return end.how === 'exited' && end.code === 0 ? Buffer.concat(chunks).toString() : null;
}
