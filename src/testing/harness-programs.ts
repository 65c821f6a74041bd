import { existsSync, globSync } from 'node:fs';
import { delimiter, isAbsolute, join } from 'node:path';

interface PinnedProgram {
  /** Folder below `harnesses/versions/`. */
  readonly set: 'fast' | 'nightly';
  /** Below `node_modules/`; a glob, because some packages differ by platform. */
  readonly file: string;
  /** How it is called where people install it. */
  readonly onPath: string;
}

const pinned = {
  'claude-code': { set: 'fast', file: '@anthropic-ai/claude-agent-sdk-*/claude{,.exe}', onPath: 'claude' },
  codex: { set: 'fast', file: '@openai/codex-*/vendor/*/bin/codex{,.exe}', onPath: 'codex' },
  pi: { set: 'fast', file: '@earendil-works/pi-coding-agent/dist/bundle/cli.js', onPath: 'pi' },
  'gemini-cli': { set: 'nightly', file: '@google/gemini-cli/bundle/gemini.js', onPath: 'gemini' },
  opencode: { set: 'nightly', file: 'opencode-ai/bin/opencode.exe', onPath: 'opencode' },
} as const satisfies Record<string, PinnedProgram>;

export type HarnessName = keyof typeof pinned;

export type HarnessProgram =
  | {
      readonly kind: 'found';
      /** Absolute path. */
      readonly command: string;
      /** What comes before the program's own arguments. */
      readonly args: readonly string[];
      /** Where the pinned packages lie, for who loads one as a library; null: it is the machine's own, of any version. */
      readonly nodeModules: string | null;
    }
  /** `reason` is for the title of a skipped test (H-981). */
  | { readonly kind: 'absent'; readonly reason: string };

/** A run of the tests was told to need a harness that is not there, or one that nobody knows (H-981). */
export class RequiredHarnessError extends Error {
  override readonly name = 'RequiredHarnessError';
}

const versionsFolder = join(import.meta.dirname, '../../harnesses/versions');

/**
 * Where a test finds a real harness: the pinned one of `scripts/install-harnesses.js`, else one on `PATH`.
 *
 * @param env  `PATH`, and `REINS_REQUIRE_HARNESSES`: names with commas between, whose absence is a failure.
 * @param versions  Where the pinned ones are; absent: in this repository.
 * @throws RequiredHarnessError  It is required and absent, or an unknown name is required.
 */
export function findHarnessProgram(
  name: HarnessName,
  env: Readonly<Record<string, string | undefined>>,
  versions: string = versionsFolder,
): HarnessProgram {
  const required = requiredHarnesses(env['REINS_REQUIRE_HARNESSES']);
  const { set, file, onPath } = pinned[name];
  const nodeModules = join(versions, set, 'node_modules');
  const [path] = globSync(file, { cwd: nodeModules });
  if (path !== undefined) return { kind: 'found', nodeModules, ...started(join(nodeModules, path)) };
  const folders = (env['PATH'] ?? '').split(delimiter).filter(isAbsolute);
  const command = folders.map((folder) => join(folder, onPath)).find((program) => existsSync(program));
  if (command !== undefined) return { kind: 'found', nodeModules: null, command, args: [] };
  const reason = `not installed: node scripts/install-harnesses.js ${set}`;
  if (required.has(name)) throw new RequiredHarnessError(`${name} is required, and ${reason}`);
  return { kind: 'absent', reason };
}

/** Scripts run in the Node of the tests, which is new enough for all of them; `PATH` may lead to an older one. */
const started = (path: string) =>
  path.endsWith('.js') ? { command: process.execPath, args: [path] } : { command: path, args: [] };

function requiredHarnesses(list: string | undefined): ReadonlySet<string> {
  const names = (list ?? '').split(',').map((name) => name.trim());
  const unknown = names.filter((name) => name !== '' && !Object.hasOwn(pinned, name) && name !== 'native');
  if (unknown.length > 0) throw new RequiredHarnessError(`No harness is called ${unknown.join(', ')}.`);
  return new Set(names);
}
