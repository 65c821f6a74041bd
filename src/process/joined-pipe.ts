import { execFile } from 'node:child_process';
import { closeSync, constants, openSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Environment } from './child-environment.ts';

export interface JoinedPipe extends Disposable {
  readonly reader: Socket;
  /** Descriptor for the child's stdout and stderr. To be closed here once the child has it: `dispose`. */
  readonly writer: number;
}

/**
 * One pipe for both output streams of a child, so that what it wrote stays in the order in which it was written.
 * Node's own pipes are two sockets: their order is lost, and `/dev/stderr` cannot be opened by a child that has one.
 * A named pipe, whose name is gone at once, is how to get a real pipe without native code.
 */
export async function openJoinedPipe(env: Environment): Promise<JoinedPipe> {
  const folder = await mkdtemp(join(tmpdir(), 'reins-pipe-'));
  try {
    const path = join(folder, 'output');
    await promisify(execFile)('mkfifo', ['-m', '600', path], { env: { PATH: env['PATH'] } });
    const readEnd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const reader = new Socket({ fd: readEnd, readable: true, writable: false });
    const writer = openSync(path, constants.O_WRONLY);
    return { reader, writer, [Symbol.dispose]: () => closeSync(writer) };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
