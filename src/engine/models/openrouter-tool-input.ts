// OpenRouter's package changes what it cannot parse: arguments that were cut off, or are no JSON, come out as `{}` under a
// normal finish, and a second call under the index of a finished one is lost. A tool must never run with arguments that
// nobody wrote (B079), nor the first of several calls alone (B077). The raw chunks hold what was really sent, so:
//
// O1. The input of a call is the text that the provider sent for it; '' for a call without arguments.
// O2. Text for a call that is already complete makes the reply malformed (E-307).

import { z } from 'zod';
import { MalformedReplyError } from '../../core/errors.ts';
import type { Model } from '../model.ts';
import { mapParts, type ModelPart } from './model-part.ts';

interface SentCall {
  /** Null: the provider gave none, the package made one up. */
  readonly id: string | null;
  text: string;
  /** A piece of it was passed on; the package makes up whole inputs only. */
  shown: boolean;
  complete: boolean;
}

const chunk = z.object({
  choices: z.array(
    z.object({
      delta: z.object({
        tool_calls: z
          .array(
            z.object({
              index: z.number().nullish(),
              id: z.string().nullish(),
              function: z.object({ arguments: z.string().nullish() }).nullish(),
            }),
          )
          .nullish(),
      }),
    }),
  ),
});

/** The same model with the tool input as it was sent. */
export function withSentToolInput(model: Model): Model {
  const withRaw: Model = {
    provider: model.provider,
    modelId: model.modelId,
    doStream: (options) => model.doStream({ ...options, includeRawChunks: true }),
  };
  return mapParts(withRaw, () => {
    const sent = new Map<number, SentCall>();
    return (part) => {
      if (part.type !== 'raw') return [restore(sent, part)];
      collect(sent, part.rawValue);
      return [];
    };
  });
}

/** @throws MalformedReplyError  Text came for a complete call (O2). */
function collect(sent: Map<number, SentCall>, raw: unknown): void {
  const deltas = chunk.safeParse(raw).data?.choices[0]?.delta.tool_calls ?? [];
  for (const { index, id, function: called } of deltas) {
    const at = index ?? sent.size - 1;
    const text = called?.arguments ?? '';
    const call = sent.get(at);
    if (call === undefined) sent.set(at, { id: id ?? null, text, shown: false, complete: false });
    else if (call.complete && text.trim() !== '') throw new MalformedReplyError('A tool call went on after its end.');
    else call.text += text;
  }
}

function restore(sent: Map<number, SentCall>, part: ModelPart): ModelPart {
  if (part.type === 'tool-input-delta') {
    const call = sentFor(sent, part.id);
    if (call === undefined) return part;
    const madeUp = !call.shown && part.delta === '{}';
    call.shown = true;
    return madeUp ? { ...part, delta: call.text } : part;
  }
  if (part.type !== 'tool-call') return part;
  const call = sentFor(sent, part.toolCallId);
  if (call === undefined) return part;
  call.complete = true;
  return { ...part, input: call.text };
}

function sentFor(sent: Map<number, SentCall>, id: string): SentCall | undefined {
  const calls = [...sent.values()];
  return calls.find((call) => call.id === id) ?? calls.find((call) => call.id === null && !call.complete);
}
