// One MCP server as a child process. The SDK's own transport stops only the process it started, and takes four seconds.
//
// X1. No shell, and no environment but the one given (UP-50).
// X2. The whole tree is stopped: a launcher such as npx leaves no server behind. A server that ends by itself leaves nothing
//     behind either.
// X3. When `close` or `kill` has settled, the tree is gone, or the log names what could not be stopped.

import { isAbsolute, resolve } from 'node:path';
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { childEnvironment, type Environment } from '../../process/child-environment.ts';
import { findProgram } from '../../process/find-program.ts';
import { readLines } from '../../process/read-lines.ts';
import { ProcessStartError, startProcess, type RunningProcess } from '../../process/start-process.ts';
import { stopTree } from '../../process/stop-tree.ts';
import { head, toWellFormed } from '../../core/text.ts';
import type { Clock } from '../../core/clock.ts';
import type { Logger } from '../../core/logger.ts';
import type { Random } from '../../core/random.ts';
import type { StdioServer } from './mcp-server.ts';
import { within } from '../../core/within.ts';

export interface StdioDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Ours, of which a server gets what `childEnvironment` lets through. */
  readonly environment: Environment;
  /** Absolute path of the folder for servers that name none. */
  readonly cwd: string;
}

const endOfInputMs = 1000;
const terminateMs = 1000;
const maxMessageUnits = 128 * 2 ** 20;
const maxStderrUnits = 64 * 2 ** 10;
const maxEntryUnits = 2000;

export class StdioTransport implements Transport {
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
  onmessage?: ((message: JSONRPCMessage) => void) | undefined;
  readonly #server: StdioServer;
  readonly #deps: StdioDeps;
  #started: Promise<RunningProcess> | null = null;
  #gone: Promise<void> = Promise.resolve();

  constructor(server: StdioServer, deps: StdioDeps) {
    this.#server = server;
    this.#deps = deps;
  }

  async start(): Promise<void> {
    const { clock, random } = this.#deps;
    const { command, args = [], cwd = this.#deps.cwd } = this.#server;
    const env = childEnvironment(this.#deps.environment, this.#server.env);
    const program = /[\\/]/.test(command) ? resolve(cwd, command) : findProgram(command, env['PATH']);
    if (program === null || !isAbsolute(program)) throw new ProcessStartError('not-found', command, undefined);
    const marker = random.token();
    this.#started = startProcess({ clock, program, args, cwd, env, marker, stdin: 'pipe' });
    this.#gone = this.#follow(await this.#started);
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const child = await this.#started;
    await new Promise<void>((done, fail) => {
      if (!child?.stdin) return fail(new Error('The server was not started.'));
      child.stdin.write(`${JSON.stringify(message)}\n`, (error) => (error ? fail(error) : done()));
    });
  }

  /** Asks first: by the end of its input, then by SIGTERM. */
  async close(): Promise<void> {
    const child = await this.#child();
    child?.stdin?.end();
    await within(this.#gone, { clock: this.#deps.clock, ms: endOfInputMs });
    await this.#stop(child, terminateMs);
    await this.#gone;
  }

  async kill(): Promise<void> {
    await this.#stop(await this.#child(), 0);
    await this.#gone;
  }

  async #child(): Promise<RunningProcess | null> {
    return (await this.#started?.catch(() => null)) ?? null;
  }

  /** Whether it is gone. If not, its streams are let go of, and nobody waits for it any longer. */
  async #stop(child: RunningProcess | null, graceMs: number): Promise<boolean> {
    if (child === null) return true;
    const { unstopped } = await stopTree(child.tree, { clock: this.#deps.clock, graceMs });
    if (unstopped.length === 0) return true;
    this.#deps.logger.error('An MCP server could not be stopped.', { server: this.#server.name, unstopped });
    child[Symbol.dispose]();
    return false;
  }

  /** Until the process is gone, or its output has ended: then it is of no more use. Never rejects. */
  async #follow(child: RunningProcess): Promise<void> {
    const stderr = this.#logStderr(child);
    const reading = this.#read(child);
    await Promise.race([child.exited, reading]);
    if (await this.#stop(child, 0)) {
      const exit = await child.exited;
      await Promise.all([reading, stderr]);
      const how = exit.how === 'exited' ? `with code ${exit.code}` : `by ${exit.signal}`;
      this.onerror?.(new Error(`The process ended ${how}.`));
    }
    child[Symbol.dispose]();
    this.onclose?.();
  }

  async #read(child: RunningProcess): Promise<void> {
    try {
      for await (const { text } of readLines(child.stdout, maxMessageUnits))
        if (text.trim() !== '') this.#receive(text);
    } catch (error) {
      this.onerror?.(error instanceof Error ? error : new Error(String(error)));
    }
  }

  #receive(line: string): void {
    try {
      const message: JSONRPCMessage = JSON.parse(line);
      this.onmessage?.(message);
    } catch (error) {
      this.onerror?.(new Error('A line of its output is no message.', { cause: error }));
    }
  }

  /** Passes on what it writes there, until it is too much. */
  async #logStderr(child: RunningProcess): Promise<void> {
    const { logger } = this.#deps;
    const server = this.#server.name;
    let leftUnits = maxStderrUnits;
    try {
      for await (const { text } of readLines(child.stderr)) {
        if (leftUnits <= 0) continue;
        logger.info('An MCP server wrote to its stderr.', { server, text: head(toWellFormed(text), maxEntryUnits) });
        leftUnits -= text.length;
        if (leftUnits <= 0)
          logger.warn('From now on the stderr of an MCP server is left out: it is too much.', { server });
      }
    } catch (error) {
      this.onerror?.(error instanceof Error ? error : new Error(String(error)));
    }
  }
}
