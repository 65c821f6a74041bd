// A session of a host, over runs in a store. What it holds is a name and a place in a log, so any process can go on with it.

import { answersIn } from './host-questions.ts';
import { HarnessV1UnsupportedError } from './unsupported-error.ts';
import { isRecord } from '../../protocol/parts/part-json.ts';
import { placeIn } from './resume-state.ts';
import { RuntimeStateError } from '../../core/errors.ts';
import { sessionIdOf } from '../session-id.ts';
import { settingsOf, toMetadata } from './turn-settings.ts';
import { toJsonValue } from '../../core/json.ts';
import { toRunInput } from './prompt-input.ts';
import { TurnFeed } from './turn-feed.ts';
import type {
  Approval,
  ContinueOptions,
  ContinueState,
  PromptOptions,
  ResumeState,
  StartOptions,
  ToolResult,
  TurnControl,
  TurnPlace,
  V1Session,
} from './harness-v1.ts';
import type { Runtime } from '../runtime.ts';

export interface SessionParts {
  readonly runtime: Runtime;
  readonly agent: string;
  readonly harnessId: string;
  /** Names of tools that the host knows. */
  readonly listed: ReadonlySet<string>;
  readonly maxConcurrent: number;
}

interface Turn {
  readonly runId: string;
  /** Null: nobody has looked at it here. */
  readonly feed: TurnFeed | null;
  /** Where the look before this one ended. */
  readonly after: number;
}

/** @throws RuntimeStateError, NotFoundError  A state that nothing can be made of: nothing was started (P-074). */
export async function startSession(parts: SessionParts, start: StartOptions): Promise<V1Session> {
  const { resumeFrom, continueFrom = resumeFrom?.continueFrom } = start;
  const { harnessId } = parts;
  const kept = resumeFrom === undefined ? null : placeIn(resumeFrom, { type: 'resume-session', harnessId });
  const place = continueFrom === undefined ? kept : placeIn(continueFrom, { type: 'continue-turn', harnessId });
  const name = `${harnessId}/${start.sessionId}`;
  const turn = place === null ? null : await turnAt(parts, name, place);
  return new HostSession(parts, { start, name, turn });
}

async function turnAt({ runtime }: SessionParts, name: string, { runId, seq }: TurnPlace): Promise<Turn | null> {
  if (runId === null) return null;
  const run = await runtime.runs.get(runId);
  if (run.sessionId !== sessionIdOf(name)) throw new RuntimeStateError('This state is of another session.');
  if (seq > run.lastSeq) throw new RuntimeStateError('This state lies ahead of its turn.');
  return { runId, feed: null, after: seq };
}

class HostSession implements V1Session {
  readonly sessionId: string;
  readonly isResume: boolean;
  readonly #o: SessionParts;
  readonly #start: StartOptions;
  readonly #name: string;
  #turn: Turn | null;

  constructor(
    parts: SessionParts,
    { start, name, turn }: { readonly start: StartOptions; readonly name: string; readonly turn: Turn | null },
  ) {
    this.sessionId = start.sessionId;
    this.isResume = start.resumeFrom !== undefined || start.continueFrom !== undefined;
    this.#o = parts;
    this.#start = start;
    this.#name = name;
    this.#turn = turn;
  }

  async doPromptTurn(options: PromptOptions): Promise<TurnControl> {
    const { permissionMode, builtinToolFiltering } = this.#start;
    const { prompt, model, abortSignal } = options;
    const metadata = toMetadata(settingsOf({ ...options, permissionMode, builtinToolFiltering }));
    const input = toRunInput(prompt);
    abortSignal?.throwIfAborted();
    const { runtime, agent } = this.#o;
    const place = { agent, sessionId: this.#name, metadata };
    const { runId } = await runtime.submit(input, model === undefined ? place : { ...place, model });
    return this.#look({ runId, after: null }, options);
  }

  async doContinueTurn(options: ContinueOptions): Promise<TurnControl> {
    const { runId, seq } = await this.#leave();
    if (runId === null) throw new RuntimeStateError('There is no turn to go on with.');
    return this.#look({ runId, after: seq }, options);
  }

  async doSuspendTurn(): Promise<ContinueState> {
    return this.#stateOf('continue-turn', await this.#leave());
  }

  async doCompact(instructions?: string): Promise<void> {
    const turn = this.#turn;
    if (turn?.feed?.isOver !== false) throw new HarnessV1UnsupportedError('Only a turn at work can be compacted.');
    await this.#o.runtime.compact(turn.runId, instructions === undefined ? {} : { instructions });
  }

  async doDetach(): Promise<ResumeState> {
    const place = await this.#leave();
    const state = this.#stateOf('resume-session', place);
    return this.#isUnfinished ? { ...state, continueFrom: this.#stateOf('continue-turn', place) } : state;
  }

  /** The engine stops with its run; there is nothing else to stop. */
  doStop(): Promise<ResumeState> {
    return this.doDetach();
  }

  async doDestroy(): Promise<void> {
    const { runId } = await this.#leave();
    if (runId !== null && this.#isUnfinished) await this.#o.runtime.cancel(runId);
  }

  get #isUnfinished(): boolean {
    return this.#turn !== null && this.#turn.feed?.isOver !== true;
  }

  #stateOf<T extends 'continue-turn' | 'resume-session'>(type: T, place: TurnPlace) {
    return { type, specificationVersion: 'harness-v1', harnessId: this.#o.harnessId, data: { ...place } } as const;
  }

  /** Ends the look at the turn, if there is one. */
  async #leave(): Promise<TurnPlace> {
    const turn = this.#turn;
    await turn?.feed?.stop();
    return turn === null ? { runId: null, seq: 0 } : { runId: turn.runId, seq: turn.feed?.place ?? turn.after };
  }

  #look(
    { runId, after }: { readonly runId: string; readonly after: number | null },
    { tools, abortSignal, emit }: ContinueOptions,
  ): TurnControl {
    const { runtime, listed, maxConcurrent } = this.#o;
    const hosted = new Set(tools.map(({ name }) => name));
    const feed = new TurnFeed({ runtime, runId, after, hosted, listed, maxConcurrent, signal: abortSignal, emit });
    this.#turn = { runId, feed, after: after ?? 0 };
    return {
      submitToolResult: (result) => this.#settle(feed, result),
      submitToolApproval: (decision) => this.#decide(decision),
      submitUserMessage: async (text) => void (await runtime.send({ runId }, { content: text }, { mode: 'steer' })),
      done: feed.done,
    };
  }

  async #settle(feed: TurnFeed, { toolCallId, output, isError = false }: ToolResult): Promise<void> {
    const { runtime } = this.#o;
    feed.noteOutput(toolCallId, output);
    const { kind, approvalId, executionKey } = await feed.requestOf(toolCallId);
    if (kind === 'question') await runtime.approvals.answer(approvalId, answersIn(output));
    else await runtime.recovery.resolve(executionKey, { result: readableOf(output, isError) });
  }

  async #decide({ approvalId, approved, reason }: Approval): Promise<void> {
    const decision = approved ? 'approve' : 'deny';
    await this.#o.runtime.approvals.decide(approvalId, { decision, ...(reason === undefined ? {} : { note: reason }) });
  }
}

/** What the model reads of a result. */
function readableOf(output: unknown, isError: boolean): { readonly content: string; readonly isError: boolean } {
  if (isRecord(output) && output['type'] === 'execution-denied') {
    const { reason } = output;
    return { content: `Not run. It was refused.${typeof reason === 'string' ? ` ${reason}` : ''}`, isError: true };
  }
  if (typeof output === 'string') return { content: output, isError };
  return { content: output === undefined ? 'It gave no output.' : JSON.stringify(toJsonValue(output)), isError };
}
