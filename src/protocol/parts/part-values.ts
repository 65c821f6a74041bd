import {
  always,
  below,
  count,
  fault,
  json,
  jsonObject,
  may,
  need,
  oneOf,
  optionalText,
  shape,
  text,
  type Codec,
} from './codec.ts';
import { FinishReasons } from './part-type.ts';
import { head } from '../../core/text.ts';
import { isRecord, type PartJson } from './part-json.ts';
import type { CallWarning, FinishReason, InputTokenUsage, OutputTokenUsage, Usage } from './stream-part.ts';

/** Outer keys are harness or provider ids. */
export const metadata: Codec<Record<string, Record<string, PartJson>>> = (value, at) => {
  if (!isRecord(value)) throw fault('bad_value', at);
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, jsonObject(inner, below(at, key))]));
};

export const finishReason: Codec<FinishReason> = shape<FinishReason>({
  unified: need(oneOf(FinishReasons)),
  raw: always(optionalText),
});

const inputTokens = shape<InputTokenUsage>({
  total: always(count),
  noCache: always(count),
  cacheRead: always(count),
  cacheWrite: always(count),
});
const outputTokens = shape<OutputTokenUsage>({ total: always(count), text: always(count), reasoning: always(count) });

/** A half that is missing is one of which nothing is known. */
export const usage: Codec<Usage> = shape<Usage>({
  inputTokens: always((value, at) => inputTokens(value ?? {}, at)),
  outputTokens: always((value, at) => outputTokens(value ?? {}, at)),
  raw: may(jsonObject),
});

const unsupportedSetting = shape<Extract<CallWarning, { type: 'unsupported-setting' }>>({
  setting: need(text),
  details: may(text),
});
const unsupportedTool = shape<Extract<CallWarning, { type: 'unsupported-tool' }>>({
  tool: need(text),
  details: may(text),
});
const otherWarning = shape<Extract<CallWarning, { type: 'other' }>>({
  message: always((value, at) => text(value ?? '', at)),
});

/** How much of a warning of a younger vocabulary is kept, in UTF-16 units. */
const unknownWarningUnits = 300;

const warning: Codec<CallWarning> = (value, at) => {
  if (!isRecord(value)) throw fault('bad_value', at);
  const { type } = value;
  switch (type) {
    case 'unsupported-setting':
      return { type, ...unsupportedSetting(value, at) };
    case 'unsupported-tool':
      return { type, ...unsupportedTool(value, at) };
    case 'other':
      return { type, ...otherWarning(value, at) };
    default:
      return { type: 'other', message: head(JSON.stringify(json(value, at)), unknownWarningUnits) };
  }
};

export const warnings: Codec<readonly CallWarning[]> = (value, at) => {
  if (!Array.isArray(value)) throw fault('bad_value', at);
  return Array.from(value, (item: unknown, index) => warning(item, below(at, index)));
};
