// This machine as an adapter's sandbox: the files that this user may touch, and processes that are ours to stop (H-701).

import { findProgram } from '../../process/find-program.ts';
import { dirname, resolve } from 'node:path';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { ReadableStream } from 'node:stream/web';
import { runtimeEnvironment } from '../foreign/line-process.ts';
import { startProcess } from '../../process/start-process.ts';
import { stopTree } from '../../process/stop-tree.ts';
import type { CommandOptions, SandboxProcess, SandboxSession } from './harness-v1.ts';
import type { Environment } from '../../process/child-environment.ts';
import type { OpenNative } from '../foreign/runtime.ts';

type Place = Pick<OpenNative, 'clock' | 'home' | 'temporary' | 'workspace' | 'marker' | 'random'>;

/** From SIGTERM to SIGKILL of a command that is killed. */
const graceMs = 2_000;

export function localSandbox(place: Place, host: Environment): SandboxSession {
  const at = (path: string) => resolve(place.workspace, path);
  const read = ({ path, abortSignal }: { readonly path: string; readonly abortSignal?: AbortSignal }) =>
    readFile(at(path), abortSignal === undefined ? {} : { signal: abortSignal }).catch(nullIfMissing);
  const write = async (path: string, content: Uint8Array) => {
    await mkdir(dirname(at(path)), { recursive: true });
    await writeFile(at(path), content);
  };
  const spawn = (options: CommandOptions) => spawnCommand(options, place, host);
  return {
    description: `The machine of the server. The working directory is ${place.workspace}.`,
    async readFile(file) {
      const bytes = await read(file);
      return bytes === null ? null : ReadableStream.from([new Uint8Array(bytes)]);
    },
    readBinaryFile: read,
    async readTextFile({ encoding = 'utf-8', startLine = 1, endLine, ...file }) {
      const bytes = await read(file);
      if (bytes === null) return null;
      const text = new TextDecoder(encoding).decode(bytes);
      return startLine === 1 && endLine === undefined
        ? text
        : text
            .split('\n')
            .slice(startLine - 1, endLine)
            .join('\n');
    },
    writeFile: async ({ path, content }) => write(path, await collect(content)),
    writeBinaryFile: ({ path, content }) => write(path, content),
    writeTextFile: ({ path, content, encoding = 'utf-8' }) => {
      if (!Buffer.isEncoding(encoding)) throw new TypeError(`Text cannot be written as ${encoding} here.`);
      return write(path, Buffer.from(content, encoding));
    },
    spawn,
    async run(options) {
      const process = await spawn(options);
      const [stdout, stderr, { exitCode }] = await Promise.all([
        collect(process.stdout),
        collect(process.stderr),
        process.wait(),
      ]);
      const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
      return { exitCode, stdout: decode(stdout), stderr: decode(stderr) };
    },
  };
}

async function spawnCommand(
  { command, workingDirectory, env, abortSignal }: CommandOptions,
  { clock, home, temporary, workspace, marker, random }: Place,
  host: Environment,
): Promise<SandboxProcess> {
  abortSignal?.throwIfAborted();
  const surroundings = runtimeEnvironment(host, { home, temporary, own: env ?? {} });
  const process = await startProcess({
    clock,
    program: findProgram('bash', host['PATH']) ?? '/bin/sh',
    args: ['-c', command],
    cwd: resolve(workspace, workingDirectory ?? '.'),
    // That of the session on all of them; below it each has one of its own, to be killed by.
    env: { ...surroundings, REINS_TREE: marker },
    marker: random.token(),
  });
  const kill = async () => void (await stopTree(process.tree, { clock, graceMs }));
  const aborted = Promise.withResolvers<never>();
  aborted.promise.catch(() => undefined);
  const onAbort = () => {
    aborted.reject(abortSignal?.reason);
    kill().catch(() => undefined);
  };
  abortSignal?.addEventListener('abort', onAbort, { once: true });
  const ended = process.exited.then((exit) => {
    abortSignal?.removeEventListener('abort', onAbort);
    return { exitCode: exit.how === 'exited' ? exit.code : 137 };
  });
  const { root } = process.tree;
  return {
    ...(root === null ? {} : { pid: root.pid }),
    stdout: ReadableStream.from(process.stdout),
    stderr: ReadableStream.from(process.stderr),
    wait: () => Promise.race([ended, aborted.promise]),
    kill,
  };
}

async function collect(stream: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  return Buffer.concat(await Array.fromAsync(stream));
}

function nullIfMissing(cause: unknown): null {
  if (cause instanceof Error && 'code' in cause && (cause.code === 'ENOENT' || cause.code === 'ENOTDIR')) return null;
  throw cause;
}
