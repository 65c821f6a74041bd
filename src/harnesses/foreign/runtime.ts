// What an adapter of a foreign runtime has to bring: a probe, and sessions whose turns speak in `NativeFact`s. Everything
// that all runtimes have in common – steps, attempts, approvals, steering, cancelling, the watchdog, warm sessions – is in
// this folder and in no adapter.

import type { Capabilities, HarnessStatus } from '../harness.ts';
import type { Clock } from '../../core/clock.ts';
import type { FactQueue } from './fact-queue.ts';
import type { JsonObject } from '../../core/json.ts';
import type { Logger } from '../../core/logger.ts';
import type { Mailbox } from '../../process/mailbox.ts';
import type { ErrorInfo } from '../../core/outcome.ts';
import { ReinsError } from '../../core/errors.ts';
import type { NativeFact } from './native-fact.ts';
import type { RelayFact } from '../relay/relay-fact.ts';
import type { RelayProvider } from '../relay/routes.ts';
import type { Random } from '../../core/random.ts';
import type { RunConfig } from '../../core/run-config.ts';
import type { SessionId } from '../../core/ids.ts';
import type { StoppedTree } from '../../process/stop-tree.ts';
import type { UserPart } from '../../core/run-event.ts';

export type { RelayFact } from '../relay/relay-fact.ts';

export interface ForeignRuntime {
  /** The base: kebab-case. */
  readonly base: string;
  /** For people. */
  readonly label: string;
  readonly capabilities: Capabilities;
  readonly mcpTransports?: readonly ('http' | 'sse' | 'stdio')[];
  /** Makes no model call, leaves no process, takes at most 10 s (H-010). */
  probe(): Promise<ProgramStatus>;
  /** Providers whose wire it speaks, the preferred one first: those of the relay (chapter 3). */
  readonly providers: readonly RelayProvider[];
  /**
   * Beside the session's model, those that it asks for titles, summaries and the like, as the provider names them. `any`: it
   * chooses by itself. Absent: none (H-200).
   */
  readonly auxiliaryModels?: readonly string[] | 'any';
  /**
   * Starts or resumes; rejects when the runtime cannot work, with nothing left behind (B145).
   * @throws RuntimeFault
   */
  open(options: OpenNative): Promise<NativeSession>;
}

/** Of the program alone; models and credentials are the relay's. */
export interface ProgramStatus {
  readonly installed: boolean;
  /** Absolute. */
  readonly path: string | null;
  readonly version: string | null;
  /** Whether the contract's suite has passed with this version (H-012). */
  readonly versionTried: boolean;
  readonly problem: HarnessStatus['problem'];
}

/** The right of one session to call models through the relay. It goes to the runtime as its address and its API key. */
export interface NativeLease {
  /** `http://127.0.0.1:PORT`, without a path. */
  readonly url: string;
  readonly token: string;
  readonly provider: RelayProvider;
  /** What passes, as it passes: steps, resets, served model and usage where the runtime hides them (H-203). */
  onFact(listener: (fact: RelayFact) => void): void;
}

export interface OpenNative {
  readonly lease: NativeLease;
  readonly sessionId: SessionId;
  /** Absolute path. */
  readonly workspace: string;
  /** Private to this session and base, absolute, there, mode 0700: state, configuration, home (H-135). */
  readonly home: string;
  /** For `TMPDIR`: private as well, and not above the home. */
  readonly temporary: string;
  /** As its provider names it. */
  readonly model: string;
  readonly config: RunConfig;
  /** Only those that are enabled; their secrets go over stdin or a private file, never argv (H-082). */
  readonly mcpServers: readonly ResolvedMcpServer[];
  /** Absolute folders with a `SKILL.md` each, read-only (H-083). */
  readonly skillFolders: readonly string[];
  /** The state that an earlier process of this session left; null: none. */
  readonly resume: NativeState | null;
  /** Keeps the state as soon as it is known (H-070). */
  remember(state: NativeState): Promise<void>;
  /** Goes into every process of the session (H-061). */
  readonly marker: string;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

/** What a session is resumed from (H-070). No credential. */
export interface NativeState {
  readonly nativeId: string;
  readonly version: string | null;
  readonly data?: JsonObject;
}

export interface NativeSession {
  /** Whether the runtime goes on from the state it was given; false: it remembers nothing (H-071). */
  readonly resumed: boolean;
  /** Resolves when it is gone, for whatever reason, with what its operator should read. */
  readonly gone: Promise<string>;
  /** One at a time. */
  prompt(input: NativeInput): NativeTurn;
  /** Ends the whole tree (H-060, steps 5 to 7). Idempotent. */
  stop(): Promise<StoppedTree>;
}

export interface NativeInput {
  readonly content: readonly UserPart[];
}

export interface NativeTurn {
  /** Facts as they come; the last one is `ended`, whatever happens (H-100). */
  readonly facts: Mailbox<NativeFact> & Partial<Pick<FactQueue, 'heardAtMs'>>;
  /** Answers a gate or a question; the runtime goes on. */
  answer(request: string, word: GateWord): void;
  /** Resolves when the runtime has taken it (H-050). Absent: it takes none. */
  steer?(text: string): Promise<void>;
  /** Asks the runtime to end the turn. Open requests have been answered before (H-060). */
  interrupt(): void;
}

export type GateWord =
  /** The note is for the tool, where the runtime has a place for it (P-089). */
  | { readonly say: 'allow'; readonly note?: string }
  /** The note reaches the model where the runtime lets it (H-043). */
  | { readonly say: 'deny'; readonly note: string }
  /** By question id. Null: the person declined. */
  | { readonly say: 'answers'; readonly answers: readonly NativeAnswer[] | null }
  | { readonly say: 'cancelled' };

export interface NativeAnswer {
  readonly id: string;
  readonly texts: readonly string[];
}

export interface ResolvedMcpServer {
  readonly name: string;
  readonly server:
    | { readonly transport: 'http' | 'sse'; readonly url: string; readonly headers: Readonly<Record<string, string>> }
    | {
        readonly transport: 'stdio';
        readonly command: string;
        readonly args: readonly string[];
        readonly env: Readonly<Record<string, string>>;
        readonly cwd: string | null;
      };
}

/** The runtime cannot work, or works no longer. `message` is safe to show (H-136). */
export class RuntimeFault extends ReinsError {
  readonly error: ErrorInfo;
  constructor(error: ErrorInfo, options?: ErrorOptions) {
    super(error.message, options);
    this.error = error;
  }
}
