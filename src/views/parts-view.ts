// The stream-parts view: a run in the vocabulary that it shares with other SDKs (P-060 to P-065).
//
// V1. Pure fold; the view of a prefix is a prefix of the view (E-948).
// V2. The parts of one event are together, and each that can has the same envelope. Which event they are is said by the `raw`
//     one of ours among them, else by the last (P-061): `parts-log.ts` reads them back.
// V3. Every block that opens is closed before its step ends. Nothing follows the end of a turn; one that waits has none (P-064).
// V4. What sub-agents did is no part of this turn: it travels as `raw`.

import { asMetadata, envelopeOf, ownKey, withOwn } from './part-envelope.ts';
import { compactionPart } from './compaction-part.ts';
import { PartBlocks, type WordKind } from './part-blocks.ts';
import { partReason, partUsage } from './part-reasons.ts';
import { publicEvent } from '../core/public-event.ts';
import type { RunEvent, RunEventOf } from '../core/run-event.ts';
import type { RunResultData, StopReason } from '../core/outcome.ts';
import type { StreamPart } from '../protocol/parts/stream-part.ts';

export interface PartsViewOptions {
  /** With what makes the same log of them again: for files, not for who only looks at the turn. */
  readonly envelope?: boolean;
  /** Calls that are left to who reads the parts, such as questions. Absent: none, Reins runs its own. */
  readonly isHosted?: (toolName: string) => boolean;
}

export interface PartsView {
  push(event: RunEvent): readonly StreamPart[];
}

export function createPartsView(options: PartsViewOptions = {}): PartsView {
  return new RunParts(options);
}

class RunParts implements PartsView {
  readonly #isKept: boolean;
  readonly #isHosted: (toolName: string) => boolean;
  #blocks = new PartBlocks({ step: 0, attempt: 0 });
  /** Why the newest reply ended, for us and in the provider's own word. */
  #ended: { readonly reason: StopReason; readonly said: string | null } | null = null;
  #isLimited = false;

  constructor({ envelope = false, isHosted = () => false }: PartsViewOptions) {
    this.#isKept = envelope;
    this.#isHosted = isHosted;
  }

  push(event: RunEvent): readonly StreamPart[] {
    if (event.agentPath !== undefined && event.agentPath.length > 0) return [this.#raw(event)];
    switch (event.type) {
      case 'run-started':
        return event.data.leg === 1 ? [turnStart(event), this.#raw(event)] : [this.#raw(event)];
      case 'step-started':
        this.#blocks = new PartBlocks({ step: event.step, attempt: 1 });
        this.#ended = null;
        return [this.#raw(event)];
      case 'text-delta':
        return this.#out(event, this.#blocks.addWords('text', event.block ?? 0, event.data));
      case 'thinking-delta':
        return this.#out(event, this.#blocks.addWords('reasoning', event.block ?? 0, event.data));
      case 'text-complete':
        return this.#complete(event, 'text');
      case 'thinking-complete':
        return this.#complete(event, 'reasoning');
      case 'tool-call-delta':
        return this.#out(event, this.#input(event));
      case 'turn-complete':
        return this.#turn(event);
      case 'attempt-reset': {
        const ends = this.#out(event, this.#blocks.endAll());
        this.#blocks = new PartBlocks({ step: event.step, attempt: event.data.nextAttempt });
        return [...ends, this.#raw(event)];
      }
      case 'approval-required':
        return event.data.kind === 'approval' ? this.#approval(event) : [this.#raw(event)];
      case 'tool-result':
        return this.#result(event);
      case 'file-changed': {
        const { kind, path, ...rest } = event.data;
        return this.#out(event, [{ type: 'file-change', event: kind, path }], { all: event.data, shown: rest });
      }
      case 'compacted':
        return this.#compaction(event);
      case 'step-finished':
        return this.#endStep(event);
      case 'budget-reached':
        this.#isLimited = event.data.then === 'stop';
        return [this.#raw(event)];
      case 'run-result':
        return [
          ...this.#out(event, this.#blocks.endAll()),
          this.#raw(event),
          ...this.#out(event, this.#end(event.data)),
        ];
      case 'user-message':
      case 'model-switched':
      case 'waiting':
      case 'approval-decided':
      case 'recovery-required':
      case 'tool-call-start':
      case 'tool-dispatched':
      case 'tool-output-delta':
      case 'tool-call-complete':
      case 'todos-updated':
      case 'gap':
      // The part of that name is the end of the turn, and stands behind the result (V3).
      case 'error':
        return [this.#raw(event)];
      default:
        event satisfies never;
        return [];
    }
  }

  /** @param data  Absent: the parts before it say what it holds. */
  #raw(event: RunEvent, data: 'whole' | 'left-out' = 'whole'): StreamPart {
    const told = publicEvent(event);
    const rawValue = {
      type: `${ownKey}.${event.type}`,
      ...(data === 'whole' ? { data: told.data } : {}),
      at: event.at,
      ...(event.type === 'run-started' ? { runId: event.runId, sessionId: event.sessionId } : {}),
      ...(this.#isKept ? envelopeOf(event) : {}),
    };
    return { type: 'raw', rawValue };
  }

  /** @param facts  What the last part has no key for: all that the event says, and what is shown to everybody. */
  #out(
    event: RunEvent,
    parts: readonly StreamPart[],
    facts?: { readonly all: object; readonly shown: object },
  ): readonly StreamPart[] {
    const envelope = this.#isKept ? envelopeOf(event) : null;
    const more = facts === undefined ? null : asMetadata(envelope === null ? facts.shown : facts.all);
    if (more === null) return envelope === null ? parts : parts.map((part) => withOwn(part, envelope));
    const own = { ...envelope, ...more };
    return parts.map((part, index) => {
      const isLast = index === parts.length - 1;
      if (isLast && Object.keys(own).length > 0) return withOwn(part, own);
      return envelope === null ? part : withOwn(part, envelope);
    });
  }

  #complete(event: RunEventOf<'text-complete' | 'thinking-complete'>, kind: WordKind): readonly StreamPart[] {
    const shown = this.#blocks.shown(kind);
    const whole = shown === '' && event.data !== '' ? this.#blocks.addWords(kind, 0, event.data) : [];
    const parts = this.#out(event, [...whole, ...this.#blocks.endWords(kind)]);
    if (shown !== '' && shown !== event.data) return [...parts, this.#raw(event)];
    return parts.length === 0 && this.#isKept ? [this.#raw(event, 'left-out')] : parts;
  }

  #input({ data: { id, name, partialJson }, block = 0 }: RunEventOf<'tool-call-delta'>): readonly StreamPart[] {
    const before = this.#blocks.beginInput(id, block);
    const delta: StreamPart = { type: 'tool-input-delta', id, delta: partialJson };
    if (before === null) return [delta];
    const start: StreamPart = { type: 'tool-input-start', id, toolName: name, ...this.#origin(name) };
    return partialJson === '' ? [...before, start] : [...before, start, delta];
  }

  #origin(toolName: string): { readonly providerExecuted?: true } {
    return this.#isHosted(toolName) ? {} : { providerExecuted: true };
  }

  #turn(event: RunEventOf<'turn-complete'>): readonly StreamPart[] {
    const { calls, finishReason, rawFinishReason } = event.data;
    this.#ended = { reason: finishReason, said: rawFinishReason };
    const parts = calls.map(({ id, name, arguments: input }): StreamPart => ({
      type: 'tool-call',
      toolCallId: id,
      toolName: name,
      input,
      ...this.#origin(name),
      stepToolCallCount: calls.length,
    }));
    return [...this.#out(event, [...this.#blocks.endAll(), ...parts]), this.#raw(event)];
  }

  #approval(event: RunEventOf<'approval-required'>): readonly StreamPart[] {
    const { approvalId, call, executionKey, argsDigest, expiresAtMs } = event.data;
    const part: StreamPart = { type: 'tool-approval-request', approvalId, toolCallId: call.id };
    return this.#out(event, [part], { all: event.data, shown: { executionKey, argsDigest, expiresAtMs } });
  }

  #result(event: RunEventOf<'tool-result'>): readonly StreamPart[] {
    const { toolCallId, name, content, isError, ...rest } = event.data;
    const part: StreamPart = { type: 'tool-result', toolCallId, toolName: name, result: content };
    return this.#out(event, [isError ? { ...part, isError } : part], { all: rest, shown: rest });
  }

  #compaction(event: RunEventOf<'compacted'>): readonly StreamPart[] {
    const { trigger, method } = event.data;
    return this.#out(event, [compactionPart(event.data)], { all: event.data, shown: { method, trigger } });
  }

  #endStep(event: RunEventOf<'step-finished'>): readonly StreamPart[] {
    const { finishReason, usage, usageIncomplete, served } = event.data;
    const part: StreamPart = {
      type: 'finish-step',
      finishReason: partReason(finishReason, this.#ended?.said ?? null),
      usage: partUsage(usage, usageIncomplete),
    };
    return this.#out(event, [...this.#blocks.endAll(), part], { all: event.data, shown: { served } });
  }

  #end({ status, stopReason, usage, usageIncomplete, error }: RunResultData): readonly StreamPart[] {
    switch (status) {
      case 'completed': {
        const said = this.#ended?.reason === stopReason ? this.#ended.said : null;
        const reason = partReason(stopReason, this.#isLimited ? null : said);
        const finishReason = this.#isLimited ? { ...reason, unified: 'other' as const } : reason;
        return [{ type: 'finish', finishReason, totalUsage: partUsage(usage, usageIncomplete) }];
      }
      case 'failed':
        return [{ type: 'error', error: { name: error?.type ?? 'HarnessError', message: error?.message ?? '' } }];
      case 'cancelled':
        // Parts have no word for it, and nobody must take it for a success.
        return [{ type: 'error', error: { name: 'RunCancelled', message: 'Request cancelled.' } }];
      case 'awaiting-input':
      case 'paused':
      case 'running':
        return [];
    }
  }
}

function turnStart({ data: { model, task } }: RunEventOf<'run-started'>): StreamPart {
  const warnings = (task?.ignoredFields ?? []).map((setting) => ({ type: 'unsupported-setting', setting }) as const);
  return {
    type: 'stream-start',
    ...(warnings.length === 0 ? {} : { warnings }),
    ...(model.model === '' ? {} : { modelId: model.model }),
  };
}
