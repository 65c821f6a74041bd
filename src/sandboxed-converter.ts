import { credentialPaths } from './engine/shell/credential-paths.ts';
import { findProgram } from './process/find-program.ts';
import { homedir } from 'node:os';
import { sandboxProgram } from './engine/shell/sandbox-program.ts';
import type { ConverterProgram, PdfPreviewOptions } from './files/pdf-preview.ts';
import type { PluginHost } from './plugin-server.ts';

/** Confines a converter as the shell tool's commands are, and without a network; null where there is no sandbox. */
export function sandboxedConverter({
  dataDir,
  environment,
  shell,
}: Omit<PluginHost, 'network'>): NonNullable<PdfPreviewOptions['confine']> {
  return async ({ program, args, cwd }): Promise<ConverterProgram | null> => {
    const bubblewrap = findProgram('bwrap', environment['PATH']);
    if ((await shell())?.kind !== 'sandboxed' || bubblewrap === null) return null;
    const hidden = [dataDir, ...credentialPaths(environment['HOME'] ?? homedir())];
    const plan = { workspace: cwd, hidden, network: 'none' } as const;
    const { command, ...rest } = sandboxProgram({ ...plan, bubblewrap, command: program, args, cwd, env: {} });
    return { ...rest, program: command };
  };
}
