// Boundaries of a turn: from the parts of a harness to the chunks that readers of the AI SDK expect (P-050 to P-055).
//
// A1. `start` is the first chunk. A step begins with its first content and ends with its part, behind every result of its calls;
//     results themselves are passed on at once (P-051).
// A2. What is open is closed where a step, an attempt or the turn ends (P-053).
// A3. The turn ends once, with `finish`, `error` or `abort`, and nothing follows. Else it is incomplete, whatever was shown (P-054).

import { AdapterProtocolError, IncompleteStreamError } from '../../core/errors.ts';
import { isReset } from './is-reset.ts';
import { translatePart } from './translate-part.ts';
import type {
  CallWarning,
  FinishPart,
  FinishReason,
  FinishStepPart,
  Metadata,
  StreamPart,
  Usage,
} from './stream-part.ts';
import type { StreamChunk } from './stream-chunk.ts';

export type BoundaryChunk =
  | {
      readonly type: 'start';
      /** What the runtime said when it began (P-052). */
      readonly messageMetadata?: { readonly modelId?: string; readonly warnings?: readonly CallWarning[] };
    }
  | { readonly type: 'start-step' }
  | (Ended & { readonly type: 'finish-step'; readonly usage: Usage; readonly providerMetadata?: Metadata })
  | (Ended & { readonly type: 'finish'; readonly totalUsage: Usage })
  | { readonly type: 'abort'; readonly reason?: string };

interface Ended {
  readonly finishReason: FinishReason['unified'];
  readonly rawFinishReason: string | undefined;
}

export interface TurnAssemblerOptions {
  /** Chunks of one part, those of its calls included, which whoever knows the tools has to check. Absent: `translatePart`. */
  readonly translate?: (part: StreamPart) => readonly StreamChunk[];
}

type Chunks = readonly (StreamChunk | BoundaryChunk)[];
type OpenBlock = Extract<StreamPart, { type: 'text-start' | 'reasoning-start' | 'tool-input-start' }>;

const endOf = {
  'text-start': 'text-end',
  'reasoning-start': 'reasoning-end',
  'tool-input-start': 'tool-input-end',
} as const;

export class TurnAssembler {
  readonly #translate: (part: StreamPart) => readonly StreamChunk[];
  #phase: 'new' | 'running' | 'over' = 'new';
  #isInStep = false;
  /** The end of a step that still waits for results. */
  #held: FinishStepPart | null = null;
  readonly #open = new Map<string, OpenBlock>();
  readonly #unanswered = new Set<string>();

  constructor({ translate = (part) => translatePart(part) }: TurnAssemblerOptions = {}) {
    this.#translate = translate;
  }

  /** @throws AdapterProtocolError  The turn finishes within a step: nobody has said how that ended. */
  push(part: StreamPart): Chunks {
    if (this.#phase === 'over') return [];
    const started = this.#start(part);
    switch (part.type) {
      case 'stream-start':
        return started;
      case 'finish-step':
        this.#held = part;
        return [...started, ...(this.#unanswered.size === 0 ? this.#endStep() : [])];
      case 'finish':
        return [...started, ...this.#finish(part)];
      case 'error': {
        const closed = this.#close();
        this.#phase = 'over';
        return [...started, ...closed, ...this.#translate(part)];
      }
      case 'raw':
        return [...started, ...(isReset(part) ? this.#close() : []), ...this.#translate(part)];
      case 'file-change':
      case 'compaction':
        // They happen between steps, too, and belong to none.
        return [...started, ...this.#translate(part)];
      case 'tool-result':
        return [...started, ...this.#result(part)];
      case 'text-start':
      case 'text-delta':
      case 'text-end':
      case 'reasoning-start':
      case 'reasoning-delta':
      case 'reasoning-end':
      case 'tool-input-start':
      case 'tool-input-delta':
      case 'tool-input-end':
      case 'tool-call':
      case 'tool-approval-request':
        return [...started, ...this.#content(part)];
    }
  }

  /** The caller has stopped the turn: no error of it (P-055). */
  abort(reason?: string): Chunks {
    if (this.#phase === 'over') return [];
    const chunks = [...this.#start(null), ...this.#close()];
    this.#phase = 'over';
    return [...chunks, { type: 'abort', ...(reason === undefined ? {} : { reason }) }];
  }

  /** No part comes any more. @throws IncompleteStreamError  The turn has not ended. */
  end(): void {
    if (this.#phase !== 'over') throw new IncompleteStreamError('incomplete', 'The turn stopped without an end.');
  }

  #start(part: StreamPart | null): Chunks {
    if (this.#phase !== 'new') return [];
    this.#phase = 'running';
    if (part?.type !== 'stream-start') return [{ type: 'start' }];
    const { type: _type, ...messageMetadata } = part;
    return [{ type: 'start', ...(Object.keys(messageMetadata).length === 0 ? {} : { messageMetadata }) }];
  }

  #content(part: StreamPart): Chunks {
    // The step before has waited for results that did not come before the next one began.
    const before = this.#held === null ? [] : this.#endStep();
    const step: Chunks = this.#isInStep ? [] : [{ type: 'start-step' }];
    this.#isInStep = true;
    this.#note(part);
    return [...before, ...step, ...this.#translate(part)];
  }

  #note(part: StreamPart): void {
    if (part.type === 'text-start' || part.type === 'reasoning-start' || part.type === 'tool-input-start')
      this.#open.set(`${endOf[part.type]} ${part.id}`, part);
    else if (part.type === 'tool-call') this.#unanswered.add(part.toolCallId);
    else if ('id' in part) this.#open.delete(`${part.type} ${part.id}`);
  }

  #result(part: Extract<StreamPart, { type: 'tool-result' }>): Chunks {
    const isLate = this.#held !== null || !this.#isInStep;
    const chunks = isLate ? this.#translate(part) : this.#content(part);
    if (part.preliminary !== true) this.#unanswered.delete(part.toolCallId);
    return [...chunks, ...(this.#held !== null && this.#unanswered.size === 0 ? this.#endStep() : [])];
  }

  #endStep(): Chunks {
    const held = this.#held;
    if (held === null) return [];
    const closed = this.#close();
    const step: Chunks = this.#isInStep ? [] : [{ type: 'start-step' }];
    this.#held = null;
    this.#isInStep = false;
    this.#unanswered.clear();
    const { usage, finishReason, harnessMetadata: md } = held;
    const providerMetadata = md === undefined ? {} : { providerMetadata: md };
    return [...step, ...closed, { type: 'finish-step', ...reasonOf(finishReason), usage, ...providerMetadata }];
  }

  #finish({ finishReason, totalUsage }: FinishPart): Chunks {
    const ended = this.#endStep();
    if (this.#isInStep) throw new AdapterProtocolError('The turn finished within a step.');
    this.#phase = 'over';
    return [...ended, { type: 'finish', ...reasonOf(finishReason), totalUsage }];
  }

  /** A2. */
  #close(): Chunks {
    const ends = [...this.#open.values()].flatMap(({ type, id }) => this.#translate({ type: endOf[type], id }));
    this.#open.clear();
    return ends;
  }
}

const reasonOf = ({ unified, raw }: FinishReason): Ended => ({ finishReason: unified, rawFinishReason: raw });
