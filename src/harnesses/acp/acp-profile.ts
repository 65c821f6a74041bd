import type { Capabilities } from '../harness.ts';
import type { ForeignRuntime, OpenNative, ProgramStatus, ResolvedMcpServer } from '../foreign/runtime.ts';
import type { Environment } from '../../process/child-environment.ts';
import type { JsonObject, JsonValue } from '../../core/json.ts';

/** What sets one agent that speaks ACP apart from the others. */
export interface AcpProfile extends Pick<
  ForeignRuntime,
  'base' | 'label' | 'providers' | 'auxiliaryModels' | 'mcpTransports'
> {
  readonly capabilities: Capabilities;
  readonly dialect: AcpDialect;
  probe(): Promise<ProgramStatus>;
  /** Writes the private files of a session and says how it is started. @throws RuntimeFault */
  launch(options: OpenNative, path: string): Promise<AcpLaunch>;
  /** Makes a session of an earlier process ready to be loaded. */
  beforeLoad?(home: string, nativeId: string): Promise<void>;
}

export interface AcpLaunch {
  /** Absolute path. */
  readonly program: string;
  /** No prompt, no secret (H-131). */
  readonly args: readonly string[];
  readonly env: Environment;
  readonly mcpServers: readonly ResolvedMcpServer[];
  /** Stands before the first prompt of a new session, where the agent knows no other place for it; null: nothing. */
  readonly foreword: string | null;
}

/** How an agent fills the fields of the protocol; for the reducer, so pure. */
export interface AcpDialect {
  /** For people, in error sentences. */
  readonly label: string;
  /** Calls are announced after their reply is whole: the first one accepts it. False: while it still comes. */
  readonly callsFollowReply: boolean;
  /** Every call asks before it runs, whatever status it is said to have (H-041). */
  readonly asksAlways: boolean;
  /** What asks for a call shows less of it than what is told of it beside: the question waits for that. */
  readonly asksWithLess: boolean;
  /** Of the first that is told of a call. */
  nameOf(call: JsonObject): string;
  /** Undefined: its arguments are not told yet. */
  inputOf(call: JsonObject): JsonValue | undefined;
  /** Said to be completed, and is none. */
  isFailure(call: JsonObject): boolean;
}
