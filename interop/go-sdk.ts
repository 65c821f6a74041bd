import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

/** What `go/main.go` takes. A part is its text or its UTF-8 bytes. */
export type GoCommand =
  | { readonly do: 'decode'; readonly parts: readonly (string | Uint8Array)[] }
  | { readonly do: 'marshal'; readonly type: string; readonly value: unknown }
  | { readonly do: 'strip' | 'strip-stream'; readonly parts: readonly string[]; readonly dir: string }
  | { readonly do: 'translate'; readonly parts: readonly string[]; readonly host?: boolean };

export interface GoAnswer {
  readonly parts?: readonly string[];
  readonly chunks?: readonly Readonly<Record<string, unknown>>[];
  readonly fault?: 'unknown_type' | 'refused';
  readonly detail?: string;
}

const folder = process.env['REINS_GO_AI'] ?? '';

/** Null: it can be asked. */
export const noGoSdk: string | null = (() => {
  if (!existsSync(join(folder, 'pkg/harness'))) return 'REINS_GO_AI names no folder of github.com/digitallysavvy/go-ai';
  try {
    execFileSync('go', ['version'], { stdio: 'ignore' });
    return null;
  } catch {
    return 'there is no go on the path';
  }
})();

/** Builds the program over the folder's SDK; what it gives asks it, all commands at once. */
export function openGoSdk(): (commands: readonly GoCommand[]) => readonly GoAnswer[] {
  const made = mkdtempSync(join(tmpdir(), 'reins-go-'));
  const program = join(made, 'parts');
  // A workspace and no `replace`: the SDK's own sums count.
  const workspace = join(made, 'go.work');
  const source = join(import.meta.dirname, 'go');
  writeFileSync(workspace, `go 1.25.0\nuse (\n${JSON.stringify(source)}\n${JSON.stringify(resolve(folder))}\n)\n`);
  execFileSync('go', ['build', '-o', program, '.'], { cwd: source, env: { ...process.env, GOWORK: workspace } });
  return (commands) => {
    const lines = commands.map((command) => JSON.stringify(encode(command)));
    const output = execFileSync(program, { input: lines.join('\n'), encoding: 'utf8', maxBuffer: 2 ** 28 });
    return output
      .trimEnd()
      .split('\n')
      .map((line): GoAnswer => JSON.parse(line));
  };
}

function encode(command: GoCommand): object {
  if (command.do === 'marshal') return command;
  const { parts, ...rest } = command;
  return { ...rest, data: parts.map((part) => Buffer.from(part).toString('base64')) };
}
