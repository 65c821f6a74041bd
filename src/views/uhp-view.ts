// The UHP view of one run: its stream and its response are one fold of the log (UD-20, UD-81 to UD-83).
//
// V1. Pure: no clock, no randomness, no look at anything but the events. Same log in, same bytes out (E-003).
// V2. The view of a prefix is a prefix of the view (E-948): an event is answered from what was folded before it.
// V3. `response()` deep-equals the response of the event that was last given out with one, terminal included.
// V4. A delta costs the same at the first and the hundred-thousandth event.
// V5. Total: an event that breaks the ordering laws changes nothing it should not; after the end nothing follows (U-310).
//
// The state is mutable and private to one fold; nothing that was handed out ever changes.

import { isPriced } from '../core/cost.ts';
import { RuntimeStateError } from '../core/errors.ts';
import type { RunId, SessionId } from '../core/ids.ts';
import type { JsonObject } from '../core/json.ts';
import type { RunResultData } from '../core/outcome.ts';
import type { EventData, EventDraft, RunEvent, TaskFacts } from '../core/run-event.ts';
import type { ReinsEvent, UhpEvent } from '../protocol/uhp/events.ts';
import type { UhpResponse } from '../protocol/uhp/response.ts';
import { toolPreview, toolSummary } from './tool-summary.ts';
import { UhpApprovals } from './uhp-approvals.ts';
import { UhpArtifacts } from './uhp-artifacts.ts';
import { UhpOutput } from './uhp-output.ts';
import { reinsEventOf } from './uhp-reins.ts';
import { uhpOutcomeOf, uhpUsageOf } from './uhp-status.ts';
import { UhpWriter } from './uhp-writer.ts';

export type { UhpResponse } from '../protocol/uhp/response.ts';

export interface UhpViewOptions {
  readonly runId: RunId;
  readonly sessionId: SessionId;
  /** Whether Reins' own events are in the stream; they count in its numbering (UD-24). */
  readonly reinsEvents: boolean;
  /** False: for the response only; nothing else is built. */
  readonly emit: boolean;
}

export interface UhpView {
  /** Folds one event; its wire events in order. Pushing out of log order is not noticed. */
  push(event: EventDraft | RunEvent): readonly UhpEvent[];
  /** As it stands: in progress or terminal. @throws RuntimeStateError  No task has begun. */
  response(): UhpResponse;
  readonly ended: boolean;
  /** Number of the next event. */
  readonly sequence: number;
  /** Whether wire events are built from here on; they are numbered in any case. */
  emit: boolean;
}

export function createUhpView(options: UhpViewOptions): UhpView {
  return new UhpFold(options);
}

type Stage = 'new' | 'created' | 'working' | 'ended';

class UhpFold implements UhpView {
  readonly #options: UhpViewOptions;
  readonly #writer: UhpWriter;
  readonly #output: UhpOutput;
  readonly #approvals = new UhpApprovals();
  readonly #artifacts = new UhpArtifacts();
  readonly #degraded = new Set<string>();
  readonly #response = () => this.response();
  #stage: Stage = 'new';
  #task: TaskFacts | null = null;
  /** Whether the prices are known, of the one model that the task has had. */
  #prices: 'unknown' | 'known' | 'of another model' = 'unknown';
  #model = '';
  #result: RunResultData | null = null;

  constructor(options: UhpViewOptions) {
    this.#options = options;
    this.#writer = new UhpWriter(options.emit);
    this.#output = new UhpOutput(this.#writer, options.runId);
  }

  get ended(): boolean {
    return this.#stage === 'ended';
  }

  get sequence(): number {
    return this.#writer.sequence;
  }

  get emit(): boolean {
    return this.#writer.emit;
  }

  set emit(emit: boolean) {
    this.#writer.emit = emit;
  }

  push(event: EventDraft | RunEvent): readonly UhpEvent[] {
    this.#fold(event);
    return this.#writer.take();
  }

  response(): UhpResponse {
    const task = this.#task;
    if (task === null) throw new RuntimeStateError('No task has begun in this log.');
    const result = this.#result;
    const outcome = result === null ? null : uhpOutcomeOf(result, task.quota);
    const reason = outcome?.incompleteReason ?? null;
    return {
      id: this.#options.runId,
      object: 'response',
      created_at: task.createdAt,
      status: outcome?.status ?? 'in_progress',
      error: outcome?.error ?? null,
      incomplete_details: reason === null ? null : { reason },
      previous_response_id: task.previousResponseId,
      model: this.#model,
      output: this.#output.items(),
      store: task.store,
      usage: uhpUsageOf(result?.usage ?? null),
      metadata: this.#metadata(task, result),
    };
  }

  #metadata(task: TaskFacts, result: RunResultData | null): JsonObject {
    const { unknownOutcomes } = this.#output;
    const { pending } = this.#approvals;
    const { unstopped = [], undelivered = [] } = result ?? {};
    return {
      ...task.metadata,
      session_id: this.#options.sessionId,
      harness_id: task.harnessId,
      ...(task.modelFallback === undefined ? {} : fallbackFacts(task.modelFallback)),
      ...(task.forkedFrom === undefined ? {} : { reins_forked_from: task.forkedFrom }),
      ...(task.ignoredFields.length === 0 ? {} : { ignored_fields: task.ignoredFields }),
      ...(result?.usageIncomplete === true ? { reins_usage_incomplete: true } : {}),
      ...(result === null ? {} : this.#costFacts(result.cost)),
      ...(unknownOutcomes.length === 0 ? {} : { reins_unknown_outcomes: [...unknownOutcomes] }),
      ...(unstopped.length === 0 ? {} : { reins_unstopped: unstopped }),
      ...(undelivered.length === 0 ? {} : { reins_undelivered: undelivered }),
      ...(this.#degraded.size === 0 ? {} : { reins_degraded: [...this.#degraded] }),
      ...(result !== null || pending === 0 ? {} : { reins_pending: pending }),
    };
  }

  /** Where the price of the model is known (UD-48): what budgets take in its place is no figure to show. */
  #costFacts({ dollars, estimated }: RunResultData['cost']): JsonObject {
    if (this.#prices === 'unknown' || dollars === null) return {};
    return { reins_cost: { dollars, estimated: estimated || this.#prices === 'of another model' } };
  }

  #leaveModel(model: string): void {
    this.#model = model;
    if (this.#prices === 'known') this.#prices = 'of another model';
  }

  #fold(event: EventDraft | RunEvent): void {
    if (this.#stage === 'ended') return;
    if (this.#stage === 'new') return event.type === 'run-started' ? this.#create(event.data) : undefined;
    if (this.#stage === 'created') {
      this.#stage = 'working';
      this.#writer.started('response.in_progress', this.#response);
    }
    // What a sub-agent does is no output of this run (E-114); a decision it waits for is this run's to show (E-612).
    if (event.agentPath !== undefined && event.agentPath.length > 0) return this.#foldDecision(event);
    switch (event.type) {
      case 'text-delta':
        return this.#output.textDelta('message', event, event.data);
      case 'thinking-delta':
        return this.#output.textDelta('reasoning', event, event.data);
      case 'tool-call-delta':
        return this.#output.callDelta(event, event.data);
      case 'thinking-complete':
        return this.#output.thinkingComplete(event, event.data);
      case 'text-complete':
        return this.#output.textComplete(event, event.data);
      case 'turn-complete':
        return this.#output.turnComplete(event, event.data);
      case 'tool-call-start':
        return this.#output.callStarted(event.data);
      case 'tool-call-complete':
        return this.#output.callComplete(event.data);
      case 'tool-result':
        return this.#toolResult(event.data);
      case 'attempt-reset':
        return this.#reset(event);
      case 'step-started':
        this.#output.nextStep();
        for (const name of event.data.degraded ?? []) this.#degraded.add(name);
        return;
      case 'run-result':
        return this.#end(event.data);
      case 'model-switched':
        // A provider that names another version of the asked model has not left it (UD-84).
        if (event.data.kind === 'failover') this.#leaveModel(event.data.to.model);
        return this.#reins(reinsEventOf(event));
      case 'approval-required':
      case 'recovery-required':
      case 'approval-decided':
        return this.#foldDecision(event);
      case 'file-changed':
        if (this.#artifacts.changed(event.data)) this.#reins(reinsEventOf(event));
        return;
      case 'gap':
        if (event.data.reason === 'files-limit') this.#degraded.add('files:limit');
        if (event.data.reason === 'files-unchecked') this.#degraded.add('files:unchecked');
        return this.#reins(reinsEventOf(event));
      case 'waiting':
      case 'todos-updated':
      case 'user-message':
      case 'compacted':
      case 'budget-reached':
        return this.#reins(reinsEventOf(event));
      case 'run-started':
      case 'tool-dispatched':
      case 'tool-output-delta':
      case 'step-finished':
      case 'error':
        return;
      default:
        event satisfies never;
    }
  }

  #create({ task, model, limits }: EventData['run-started']): void {
    if (task === undefined) return;
    this.#task = task;
    this.#prices = isPriced(limits) ? 'known' : 'unknown';
    this.#model = model.model;
    this.#stage = 'created';
    this.#writer.started('response.created', this.#response);
  }

  #toolResult(data: EventData['tool-result']): void {
    if (!this.#output.toolResult(data)) return;
    const preview = toolPreview(data.content);
    this.#reins({
      type: 'reins.tool_result',
      call_id: this.#output.callIdOf(data.toolCallId),
      name: data.name,
      ok: !data.isError,
      summary: toolSummary(data),
      ...(preview === null ? {} : { preview }),
    });
  }

  #reset(event: Extract<EventDraft | RunEvent, { type: 'attempt-reset' }>): void {
    const { step, attempt, nextAttempt, reason, retryInMs } = event.data;
    const output_index = this.#output.reset({ step, attempt }, nextAttempt);
    if (output_index === null) return;
    this.#reins({ type: 'reins.attempt_reset', output_index, attempt, reason, retry_in_ms: retryInMs });
  }

  #foldDecision(event: EventDraft | RunEvent): void {
    if (event.type === 'approval-decided') {
      const approval = this.#approvals.decided(event);
      if (approval !== null) this.#reins({ type: 'reins.approval_decided', approval });
    } else if (event.type === 'approval-required' || event.type === 'recovery-required') {
      const { runId, sessionId } = this.#options;
      const agentPath = event.data.agentPath ?? event.agentPath ?? [];
      const { id } = event.data.call;
      const callId = agentPath.length > 0 ? id : this.#output.callIdOf(id);
      const place = { runId, sessionId, harnessId: this.#task?.harnessId ?? null, callId, agentPath };
      const approval = this.#approvals.required(event.data, place);
      const type = event.type === 'approval-required' ? 'reins.approval_required' : 'reins.recovery_required';
      this.#reins({ type, approval });
    }
  }

  /** A leg that parks ends nothing: the response stays in progress. */
  #end(result: RunResultData): void {
    if (uhpOutcomeOf(result).status === 'in_progress') return;
    const { sessionId } = this.#options;
    this.#output.end(this.#artifacts.annotations({ sessionId, linkBase: this.#task?.linkBase ?? '' }));
    this.#result = result;
    this.#stage = 'ended';
    this.#writer.ended(this.#response);
  }

  #reins(event: ReinsEvent | null): void {
    if (event !== null && this.#options.reinsEvents) this.#writer.reins(event);
  }
}

function fallbackFacts({ requested, reason }: NonNullable<TaskFacts['modelFallback']>): JsonObject {
  return { requested_model: requested, model_fallback: true, model_fallback_reason: reason };
}
