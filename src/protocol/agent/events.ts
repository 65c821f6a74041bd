// What `POST /api/agent` answers with. Clients skip types and fields that they do not know.

/** One call of the turn, for display. */
export type ToolTrace = { readonly name: string; readonly ok: boolean; readonly summary: string };

/** The JSON answer of a turn that succeeded. */
export type AgentAnswer = {
  readonly text: string;
  /** In the order of the calls; absent: there were none. */
  readonly toolTrace?: readonly ToolTrace[];
  /** Absent: no file or command tool ran. */
  readonly cwd?: string;
};

export type AgentDone = AgentAnswer & { readonly type: 'done' };

/** `status` is the HTTP status of the JSON form. */
export type AgentError = { readonly type: 'error'; readonly error: string; readonly status: number };

export type AgentEvent =
  | { readonly type: 'tool_start'; readonly name: string; readonly id?: string }
  | {
      readonly type: 'tool_result';
      readonly name: string;
      readonly ok: boolean;
      readonly summary: string;
      readonly preview?: string;
      readonly id?: string;
    }
  | { readonly type: 'reasoning_delta'; readonly text: string }
  | { readonly type: 'text_delta'; readonly text: string }
  /** Text and thinking since the last tool event are void, but for `kept`. */
  | { readonly type: 'attempt_reset'; readonly attempt: number; readonly kept: string }
  | AgentDone
  | AgentError;
