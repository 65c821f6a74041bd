import { basename, dirname, join } from 'node:path';
import { codexEnvironment } from './start.ts';
import { createFinder } from '../foreign/find-runtime.ts';
import { directModel } from './direct-model.ts';
import { globSync, realpathSync } from 'node:fs';
import { openCodex } from './control.ts';
import { runProcess } from '../../process/run-process.ts';
import { mkdtemp, rm } from 'node:fs/promises';
import { programOf, unavailable } from '../foreign/start-step.ts';
import { tmpdir } from 'node:os';
import { writePrivate } from '../foreign/private-files.ts';
import type { ForeignRuntime, OpenNative } from '../foreign/runtime.ts';
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
  let asking: Promise<SandboxMode | null> | null = null;
  const tellSandbox = async (program: string) => {
    if (sandbox !== null) return sandbox;
    asking ??= sandboxOf(program, { clock, host, logger, marker: random.token() }).finally(() => (asking = null));
    return (sandbox = await asking);
  };
  return {
    base: 'codex',
    label,
    get capabilities() {
      return sandbox === 'danger-full-access' ? { ...capabilities, sandbox: 'none' as const } : capabilities;
    },
    mcpTransports: ['http', 'stdio'],
    providers: ['openai'],
    async probe() {
      const status = await probe();
      if (status.problem === null && status.path !== null) await tellSandbox(programBehind(status.path));
      return status;
    },
    async open(open) {
      const program = programBehind(programOf(await probe(), label));
      const mode = (await tellSandbox(program)) ?? 'workspace-write';
      return openCodex({
        open,
        program,
        host,
        sandbox: mode,
        catalogue: await placeCatalogue(program, { open, host }),
      });
    },
  };
}

/** What npm puts on the path is a script that starts the program and stays; the program itself needs no script. */
function programBehind(path: string): string {
  const script = realpathSync(path);
  if (basename(script) !== 'codex.js') return path;
  const cwd = dirname(dirname(script));
  const [found] = globSync('{..,node_modules/@openai}/codex-*/vendor/*/bin/codex{,.exe}', { cwd });
  return found === undefined ? path : realpathSync(`${cwd}/${found}`);
}

/**
 * Where the system lets no program build a sandbox, Codex would fail every command; then our permissions stand alone (H-401).
 * Null: a machine that is too busy to tell is no ground to do without one.
 */
async function sandboxOf(
  program: string,
  { clock, host, logger, marker }: Pick<OpenNative, 'clock' | 'logger' | 'marker'> & { readonly host: Environment },
): Promise<SandboxMode | null> {
  const home = await mkdtemp(join(tmpdir(), 'reins-probe-'));
  try {
    const { signal } = new AbortController();
    const place = { clock, home, temporary: home, marker, signal };
    const { end } = await printedBy(program, ['sandbox', '--', 'true'], { open: place, host });
    if (end.how === 'timed-out') return null;
    if (end.how === 'exited' && end.code === 0) return 'workspace-write';
    logger.warn('The sandbox of Codex does not work on this machine; its commands run without it.');
    return 'danger-full-access';
  } finally {
    await rm(home, { recursive: true, force: true });
  }
}

/** The file with the entry of a model that has to be kept from writing programs; null: it needs none. */
async function placeCatalogue(
  program: string,
  { open, host }: { readonly open: OpenNative; readonly host: Environment },
): Promise<string | null> {
  const { end, text } = await printedBy(program, ['debug', 'models', '--bundled'], { open, host });
  if (end.how === 'cancelled') throw unavailable(`${label} was stopped while it started.`);
  if (end.how === 'timed-out') throw unavailable(`${label} did not answer within 10 s while it started.`);
  const isTold = end.how === 'exited' && end.code === 0;
  if (!isTold) open.logger.warn('Codex does not tell its models; one that writes programs cannot be kept from it.');
  const entry = directModel(isTold ? text : '', open.model);
  if (entry === null) return null;
  const file = join(open.home, 'reins-models.json');
  await writePrivate(file, { models: [entry] });
  return file;
}

/** What it says until it ends, which it does at once. */
async function printedBy(
  program: string,
  args: readonly string[],
  {
    open,
    host,
  }: {
    readonly open: Pick<OpenNative, 'clock' | 'home' | 'temporary' | 'marker' | 'signal'>;
    readonly host: Environment;
  },
) {
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
  return { end, text: Buffer.concat(chunks).toString() };
}
