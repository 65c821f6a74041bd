import { CompactionTrigger, FileChange } from './part-type.ts';
import {
  always,
  count,
  fault,
  flag,
  json,
  may,
  need,
  needNullable,
  oneOf,
  positiveInteger,
  shape,
  text,
} from './codec.ts';
import { finishReason, metadata, usage, warnings } from './part-values.ts';
import { isRecord } from './part-json.ts';
import type { Codec } from './codec.ts';
import type { PartOf, StreamPart, StreamPartType } from './stream-part.ts';

type Shapes = { readonly [T in StreamPartType]: Codec<Omit<PartOf<T>, 'type'>> };

const md = may(metadata);
const anything = always<unknown>((value, at) => json(value ?? null, at));

/** The vocabulary: of each type its keys, the required ones first, in the order in which they are written (P-001, P-020). */
const shapes: Shapes = {
  'stream-start': shape<PartOf<'stream-start'>>({ warnings: may(warnings), modelId: may(text) }),
  'text-start': shape<PartOf<'text-start'>>({ id: need(text), harnessMetadata: md }),
  'text-delta': shape<PartOf<'text-delta'>>({ id: need(text), delta: need(text), harnessMetadata: md }),
  'text-end': shape<PartOf<'text-end'>>({ id: need(text), harnessMetadata: md }),
  'reasoning-start': shape<PartOf<'reasoning-start'>>({ id: need(text), harnessMetadata: md }),
  'reasoning-delta': shape<PartOf<'reasoning-delta'>>({ id: need(text), delta: need(text), harnessMetadata: md }),
  'reasoning-end': shape<PartOf<'reasoning-end'>>({ id: need(text), harnessMetadata: md }),
  'tool-input-start': shape<PartOf<'tool-input-start'>>({
    id: need(text),
    toolName: need(text),
    providerExecuted: may(flag),
    dynamic: may(flag),
    title: may(text),
    providerMetadata: md,
  }),
  'tool-input-delta': shape<PartOf<'tool-input-delta'>>({ id: need(text), delta: need(text), providerMetadata: md }),
  'tool-input-end': shape<PartOf<'tool-input-end'>>({ id: need(text), providerMetadata: md }),
  'tool-call': shape<PartOf<'tool-call'>>({
    toolCallId: need(text),
    toolName: need(text),
    input: need(text),
    providerExecuted: may(flag),
    dynamic: may(flag),
    nativeName: may(text),
    stepToolCallCount: may(positiveInteger),
    providerMetadata: md,
  }),
  'tool-approval-request': shape<PartOf<'tool-approval-request'>>({
    approvalId: need(text),
    toolCallId: need(text),
    providerMetadata: md,
  }),
  'tool-result': shape<PartOf<'tool-result'>>({
    toolCallId: need(text),
    toolName: need(text),
    result: needNullable(json),
    isError: may(flag),
    preliminary: may(flag),
    dynamic: may(flag),
    providerMetadata: md,
  }),
  'finish-step': shape<PartOf<'finish-step'>>({
    finishReason: need(finishReason),
    usage: need(usage),
    harnessMetadata: md,
  }),
  finish: shape<PartOf<'finish'>>({ finishReason: need(finishReason), totalUsage: need(usage), harnessMetadata: md }),
  'file-change': shape<PartOf<'file-change'>>({
    event: need(oneOf(FileChange)),
    path: need(text),
    harnessMetadata: md,
  }),
  compaction: compaction(),
  error: shape<PartOf<'error'>>({ error: anything }),
  raw: shape<PartOf<'raw'>>({ rawValue: anything }),
};

/** Its counts may be numbers that are none: then the key is absent, and not there as undefined. */
function compaction(): Shapes['compaction'] {
  type Counted = Omit<PartOf<'compaction'>, 'tokensBefore' | 'tokensAfter'> & {
    tokensBefore: number | undefined;
    tokensAfter: number | undefined;
  };
  const read = shape<Counted>({
    trigger: need(oneOf(CompactionTrigger)),
    summary: need(text),
    tokensBefore: always(count),
    tokensAfter: always(count),
    harnessMetadata: md,
  });
  return (value, at) => {
    const { tokensBefore, tokensAfter, harnessMetadata, ...rest } = read(value, at);
    return {
      ...rest,
      ...(tokensBefore === undefined ? {} : { tokensBefore }),
      ...(tokensAfter === undefined ? {} : { tokensAfter }),
      ...(harnessMetadata === undefined ? {} : { harnessMetadata }),
    };
  };
}

/** True for exactly the types of parts. */
export function isStreamPartType(value: unknown): value is StreamPartType {
  return typeof value === 'string' && Object.hasOwn(shapes, value);
}

/** @throws StreamPartError  `missing_key` or `bad_value`. */
export function readPart(type: StreamPartType, fields: unknown): StreamPart {
  const at = { partType: type, path: '' };
  if (!isRecord(fields)) throw fault('bad_value', at);
  const read = { type, ...shapes[type](fields, at) };
  // Contract: the table has a reading of its own for each type; that they belong together is what `Shapes` says.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return read as StreamPart;
}
