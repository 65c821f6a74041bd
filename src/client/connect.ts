import { askAgent, type AgentRequest } from './agent-verb.ts';
import {
  approvalVerbs,
  queueVerbs,
  ruleVerbs,
  steerVerb,
  type ApprovalVerbs,
  type QueueVerbs,
  type RuleVerbs,
} from './people-verbs.ts';
import { clientClock, clientRandom } from './system.ts';
import { createTask, type Task } from './task.ts';
import { createTransport } from './transport.ts';
import { fileVerbs, type FileVerbs } from './file-verbs.ts';
import { harnessVerbs, type HarnessVerbs } from './harness-verbs.ts';
import { probe } from './probe.ts';
import { responseVerbs, type ResponseVerbs } from './response-verbs.ts';
import { sessionVerbs, type SessionVerbs } from './session-verbs.ts';
import { streamOnce, type StreamOptions, type StreamSource } from './stream-once.ts';
import type { ClientParts, ServerFacts } from './client-parts.ts';
import type { Clock } from '../core/clock.ts';
import type { JsonObject } from '../core/json.ts';
import type { ModelCatalog } from '../protocol/uhp/models.ts';
import type { Random } from '../core/random.ts';
import type { Result, Snapshot } from './result.ts';
import type { RunRequest, VerbOptions } from './shapes.ts';

export interface ClientOptions {
  /** Absent: `2026-08-11`, which every server speaks. Later ones only add. */
  readonly version?: string;
  /** Tries of one thing, the first included; a task that goes on begins the count anew. 8. */
  readonly maxAttempts?: number;
  /** Before the second try, then doubled: 250 ms, up to 10 s. */
  readonly backoffMs?: number;
  readonly maxBackoffMs?: number;
  /** The longest silence of a stream, more than 30 s: servers send a sign of life that often. 45 s. */
  readonly inactivityMs?: number;
  /** The longest wait for any other answer. 60 s. */
  readonly timeoutMs?: number;
  /** Sent along with every request. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly fetch?: typeof fetch;
  readonly clock?: Clock;
  readonly random?: Random;
}

export interface RunOptions extends VerbOptions {
  /** Absent: a new one. The same for the same task, also in another process, and it is started once. */
  readonly idempotencyKey?: string;
  /** Gets events of types that are not known here; the loop does not. */
  readonly onUnknown?: (event: JsonObject) => void;
}

export interface AttachOptions extends VerbOptions {
  /** Only events with a higher number: those that were not seen. */
  readonly after?: number;
  /** What an earlier reader had put together; goes on after it. Beats `after`. */
  readonly from?: Pick<Snapshot, 'sequenceNumber' | 'output'>;
  /** With the server's own events, or without: the two forms are numbered apart (UD-24). Absent: as the task was asked for. */
  readonly reinsEvents?: boolean;
  readonly onUnknown?: (event: JsonObject) => void;
}

export interface Client {
  /** What the server is and can do; a capability that it does not name is false. */
  probe(options?: VerbOptions): Promise<ServerFacts>;
  models(options?: VerbOptions): Promise<ModelCatalog>;
  /** Starts a task and gives it at once. */
  run(request: RunRequest, options?: RunOptions): Task;
  /** A task that was started before, here or elsewhere, running or not. */
  attach(responseId: string, options?: AttachOptions): Task;
  /** One connection to a task's events, for whoever keeps cursor and patience; else `run` and `attach`. */
  streamOnce(source: StreamSource, options?: StreamOptions): ReturnType<typeof streamOnce>;
  /** `POST /api/agent`: a turn that ends with its connection. */
  agent(request: AgentRequest, options?: VerbOptions): ReturnType<typeof askAgent>;
  /** Starts a task and waits for its end. */
  collect(request: RunRequest, options?: RunOptions): Promise<Result>;
  /** A message to a task at work. */
  readonly steer: ReturnType<typeof steerVerb>;
  readonly harnesses: HarnessVerbs;
  readonly responses: ResponseVerbs;
  readonly sessions: SessionVerbs;
  readonly files: FileVerbs;
  readonly approvals: ApprovalVerbs;
  readonly rules: RuleVerbs;
  readonly queue: QueueVerbs;
}

/**
 * A client of the Unified Harness Protocol, for any server of it. Needs `fetch` and web streams, nothing of Node.
 * Nothing is sent before a verb is called.
 * @param url  Of the server, without `/v1`. In a page also a path. @throws TypeError  It is neither.
 * @param key  Null: none, for a server that asks for none, or a `fetch` that adds it.
 */
export function connect(url: string, key: string | null, options: ClientOptions = {}): Client {
  if (!/^(https?:\/\/|\/|$)/i.test(url))
    throw new TypeError(
      `The address of a server begins with http:// or https://, or with / in a page of its own: '${url}'.`,
    );
  const parts = createParts(url, key, options);
  const run = (request: RunRequest, { idempotencyKey, onUnknown, signal }: RunOptions = {}) =>
    createTask(parts, {
      source: { creation: { body: request, key: idempotencyKey ?? parts.random.token() }, onUnknown },
      from: { responseId: null, sequenceNumber: -1, output: [] },
      signal,
    });
  return {
    probe: (verb) => probe(parts.transport, verb),
    models: (verb) => parts.transport.json<ModelCatalog>({ path: '/v1/models', ...verb }),
    run,
    attach: (responseId, { after = -1, from, reinsEvents, onUnknown, signal } = {}) =>
      createTask(parts, {
        source: { creation: null, reinsEvents, onUnknown },
        from: { responseId, sequenceNumber: from?.sequenceNumber ?? after, output: from?.output ?? [] },
        signal,
      }),
    streamOnce: (source, how) => streamOnce(parts, source, how),
    agent: (request, how) => askAgent(parts, request, how),
    collect: (request, how) => run(request, how).result(),
    steer: steerVerb(parts),
    harnesses: harnessVerbs(parts),
    responses: responseVerbs(parts),
    sessions: sessionVerbs(parts),
    files: fileVerbs(parts),
    approvals: approvalVerbs(parts),
    rules: ruleVerbs(parts),
    queue: queueVerbs(parts),
  };
}

function createParts(url: string, key: string | null, options: ClientOptions): ClientParts {
  const patience = {
    clock: options.clock ?? clientClock,
    random: options.random ?? clientRandom,
    maxAttempts: options.maxAttempts ?? 8,
    backoffMs: options.backoffMs ?? 250,
    maxBackoffMs: options.maxBackoffMs ?? 10_000,
  };
  const transport = createTransport({
    ...patience,
    url: url.replace(/\/+$/, ''),
    key,
    version: options.version ?? '2026-08-11',
    // Looked up at each call, so that one that is put in its place later is used.
    fetch: options.fetch ?? ((...request) => fetch(...request)),
    headers: options.headers ?? {},
    timeoutMs: options.timeoutMs ?? 60_000,
  });
  let known: Promise<ServerFacts> | null = null;
  return {
    ...patience,
    transport,
    inactivityMs: options.inactivityMs ?? 45_000,
    discovery() {
      known ??= probe(transport);
      known.catch(() => (known = null));
      return known;
    },
  };
}
