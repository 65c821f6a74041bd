// One configured server over time: not yet tried, connected, lost, failed.
//
// K1. There is at most one connection or attempt. An attempt ends by the connect limit, and is over only when nothing of it
//     is left: a server that failed never runs beside its successor (B145).
// K2. An attempt belongs to nobody: whoever waits for it may leave.
// K3. After a loss the next use connects again; after a failed attempt only a use after its backoff does.
// K4. A first contact is waited for, a repeated one only for a moment: a dead server must not slow each step.

import type { JsonObject, JsonValue } from '../../core/json.ts';
import { connectServer, type Connection, type McpDeps } from './connect-server.ts';
import { McpCallError } from './mcp-call-error.ts';
import type { McpServer } from './mcp-server.ts';
import type { RemoteTool } from './remote-tool.ts';
import { timeLimit } from './time-limit.ts';
import { within } from '../../core/within.ts';

type LinkState =
  | { readonly at: 'idle' }
  | { readonly at: 'connecting'; readonly failures: number; readonly done: Promise<void> }
  | {
      readonly at: 'open';
      readonly connection: Connection;
      readonly listing: Listing;
      readonly refresh?: Promise<void>;
    }
  | { readonly at: 'failed'; readonly failures: number; readonly retryAtMs: number }
  | { readonly at: 'closed' };

interface Listing {
  readonly tools: readonly RemoteTool[];
  /** `changes()` of the connection before the tools were asked for. */
  readonly changes: number;
}

const connectLimitMs = 10_000;
const repeatedWaitMs = 1000;
const firstBackoffMs = 1000;
const longestBackoffMs = 60_000;

export class McpLink implements AsyncDisposable {
  readonly server: McpServer;
  readonly #deps: McpDeps;
  readonly #closing = new AbortController();
  #state: LinkState = { at: 'idle' };
  /** The connection that was given up last: gone, or about to be. */
  #leaving: Promise<void> = Promise.resolve();

  constructor(server: McpServer, deps: McpDeps) {
    this.server = server;
    this.#deps = deps;
  }

  /** The server's tools as they are now; null while it cannot be used. */
  async tools(): Promise<readonly RemoteTool[] | null> {
    const work = this.#approach();
    if (work !== null) await within(work.done, { clock: this.#deps.clock, ms: work.patienceMs });
    return this.#state.at === 'open' ? this.#state.listing.tools : null;
  }

  /** @throws McpCallError, or the signal's reason. */
  async call(name: string, input: JsonValue, signal: AbortSignal): Promise<JsonObject> {
    for (let isRepeat = false; ; isRepeat = true) {
      const connection = await this.#reach(signal);
      try {
        return await connection.callTool(name, input, signal);
      } catch (error) {
        if (!(error instanceof McpCallError)) throw error;
        const { how } = error;
        if (how !== 'refused') this.#warn('A call of an MCP tool failed.', error.cause, { tool: name, how });
        if (how === 'unreachable' || how === 'session-gone') this.#giveUp(connection);
        if (how !== 'session-gone' || isRepeat) throw error;
      }
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const state = this.#state;
    this.#state = { at: 'closed' };
    this.#closing.abort(new Error('Closed.'));
    if (state.at === 'connecting') await state.done;
    if (state.at === 'open') await state.connection.close();
    await this.#leaving;
  }

  async #reach(signal: AbortSignal): Promise<Connection> {
    const work = this.#state.at === 'open' ? null : this.#approach();
    if (work !== null) await within(work.done, { clock: this.#deps.clock, ms: connectLimitMs, signal });
    signal.throwIfAborted();
    if (this.#state.at === 'open') return this.#state.connection;
    throw new McpCallError(this.server.name, { how: 'unreachable' });
  }

  /** Starts what is due, or finds it under way; null when there is nothing to wait for. `done` never rejects. */
  #approach(): { readonly done: Promise<void>; readonly patienceMs: number } | null {
    const state = this.#state;
    switch (state.at) {
      case 'idle':
        return { done: this.#start(0), patienceMs: connectLimitMs };
      case 'connecting':
        return { done: state.done, patienceMs: state.failures === 0 ? connectLimitMs : repeatedWaitMs };
      case 'open': {
        const { connection, listing } = state;
        const isStale = connection.changes() !== listing.changes;
        const refresh = state.refresh ?? (isStale ? this.#refresh(connection) : undefined);
        if (refresh === undefined) return null;
        this.#state = { ...state, refresh };
        return { done: refresh, patienceMs: connectLimitMs };
      }
      case 'failed':
        if (this.#deps.clock.now() < state.retryAtMs) return null;
        return { done: this.#start(state.failures), patienceMs: repeatedWaitMs };
      case 'closed':
        return null;
    }
  }

  #start(failures: number): Promise<void> {
    const done = this.#connect(failures);
    this.#state = { at: 'connecting', failures, done };
    return done;
  }

  async #connect(failures: number): Promise<void> {
    await this.#leaving;
    using limit = timeLimit(this.#deps.clock, connectLimitMs, this.#closing.signal);
    let connection: Connection | null = null;
    try {
      connection = await connectServer(this.server, { ...this.#deps, signal: limit.signal });
      const listing = await list(connection, limit.signal);
      limit.signal.throwIfAborted();
      this.#open(connection, listing);
    } catch (cause) {
      await connection?.kill();
      this.#fail(failures + 1, cause);
    }
  }

  async #refresh(connection: Connection): Promise<void> {
    using limit = timeLimit(this.#deps.clock, connectLimitMs, this.#closing.signal);
    try {
      const listing = await list(connection, limit.signal);
      if (this.#holds(connection)) this.#state = { at: 'open', connection, listing };
    } catch (cause) {
      if (!this.#holds(connection)) return;
      this.#leave(connection);
      this.#fail(1, cause);
    }
  }

  #open(connection: Connection, listing: Listing): void {
    this.#state = { at: 'open', connection, listing };
    void connection.ended.then(() => this.#giveUp(connection));
  }

  #giveUp(connection: Connection): void {
    if (!this.#holds(connection)) return;
    this.#state = { at: 'idle' };
    this.#leave(connection);
  }

  #leave(connection: Connection): void {
    const onFailure = (cause: unknown) =>
      this.#warn('An MCP server that was given up may still be running.', cause, {});
    this.#leaving = connection.kill().catch(onFailure);
  }

  #holds(connection: Connection): boolean {
    return this.#state.at === 'open' && this.#state.connection === connection;
  }

  #fail(failures: number, cause: unknown): void {
    if (this.#closing.signal.aborted) return;
    const backoffMs = Math.min(firstBackoffMs * 2 ** (failures - 1), longestBackoffMs);
    this.#state = { at: 'failed', failures, retryAtMs: this.#deps.clock.now() + backoffMs };
    this.#warn(`The MCP server '${this.server.name}' cannot be used; its tools are missing.`, cause, { failures });
  }

  #warn(message: string, cause: unknown, facts: JsonObject): void {
    this.#deps.logger.warn(message, { server: this.server.name, ...facts, cause: messages(cause) });
  }
}

async function list(connection: Connection, signal: AbortSignal): Promise<Listing> {
  const changes = connection.changes();
  return { changes, tools: await connection.listTools(signal) };
}

/** The messages of a chain of causes, none twice. */
function messages(cause: unknown): string {
  const found = new Set<string>();
  let current = cause;
  for (let depth = 0; depth < 6 && current instanceof Error; depth++) {
    found.add(current.message);
    current = current.cause;
  }
  return [...found].join(' / ');
}
