// The program of the interpreted shell, run as a process of its own: `node interpret.ts JSON`. See `interpreted-shell.ts`.

import { Bash, InMemoryFs, MountableFs, ReadWriteFs, latin1FromBytes, stdoutAsBytes } from 'just-bash';

interface Task {
  readonly command: string;
  readonly workspace: string;
  readonly network: 'none' | 'full';
  readonly env: Record<string, string>;
}

const { command, workspace, network, env }: Task = JSON.parse(process.argv[2] ?? '');

const memory = new InMemoryFs({}, { maxTotalBytes: 256 * 2 ** 20 });
await memory.mkdir('/tmp');
const shell = new Bash({
  // Everything but the workspace is made of memory. Links are not followed: no text of one proves where it leads.
  fs: new MountableFs({
    base: memory,
    mounts: [
      { mountPoint: workspace, filesystem: new ReadWriteFs({ root: workspace, maxFileReadSize: 64 * 2 ** 20 }) },
    ],
  }),
  cwd: workspace,
  env,
  ...(network === 'full' ? { network: { dangerouslyAllowFullInternetAccess: true } } : {}),
});

const result = await shell.exec(command, { rawScript: true }).catch((error: unknown) => {
  // A refusal of the file system that the interpreter did not expect, such as of writing through a link.
  const stderr = `bash: ${error instanceof Error ? error.message : String(error)}\n`;
  return { stdout: '', stderr, exitCode: 1 };
});
process.stdout.write(Buffer.from(latin1FromBytes(stdoutAsBytes(result)), 'latin1'));
process.stderr.write(result.stderr);
process.exit(result.exitCode); // written already: pipes are synchronous here; a timer of the command keeps nobody waiting
