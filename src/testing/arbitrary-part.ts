import fc from 'fast-check';
import type { StreamPart } from '../protocol/parts/index.ts';

const text = fc.string({ unit: 'grapheme', maxLength: 12 });
const json = fc.jsonValue({ maxDepth: 2 }).map((value) => JSON.parse(JSON.stringify(value)));
const object = fc.dictionary(text, json, { maxKeys: 3 }).map((value) => JSON.parse(JSON.stringify(value)));
const metadata = fc.dictionary(text, object, { maxKeys: 2 }).map((value) => JSON.parse(JSON.stringify(value)));
const count = fc.option(fc.nat(), { nil: undefined });
const finishReason = fc.record({
  unified: fc.constantFrom('stop', 'length', 'content-filter', 'tool-calls', 'error', 'other'),
  raw: fc.option(text, { nil: undefined }),
});
const usage = fc.record(
  {
    inputTokens: fc.record({ total: count, noCache: count, cacheRead: count, cacheWrite: count }),
    outputTokens: fc.record({ total: count, text: count, reasoning: count }),
    raw: object,
  },
  { requiredKeys: ['inputTokens', 'outputTokens'] },
);
const warning = fc.oneof(
  fc.record(
    { type: fc.constant('unsupported-setting'), setting: text, details: text },
    { requiredKeys: ['type', 'setting'] },
  ),
  fc.record({ type: fc.constant('unsupported-tool'), tool: text, details: text }, { requiredKeys: ['type', 'tool'] }),
  fc.record({ type: fc.constant('other'), message: text }),
);

function part(type: StreamPart['type'], required: Fields, optional: Fields = {}): fc.Arbitrary<unknown> {
  const keys = Object.keys(required);
  const fields: Fields = { type: fc.constant(type), ...required, ...optional };
  return fc.record(fields, { requiredKeys: ['type', ...keys] });
}
type Fields = Readonly<Record<string, fc.Arbitrary<unknown>>>;

const md = { harnessMetadata: metadata };
const pm = { providerMetadata: metadata };
const flags = { dynamic: fc.boolean(), ...pm };
const count1 = fc.integer({ min: 1, max: 20 });

/** Legal parts of all types, with and without what is optional. */
export const arbitraryPart = fc.oneof(
  part('stream-start', {}, { warnings: fc.array(warning, { maxLength: 3 }), modelId: text }),
  part('text-start', { id: text }, md),
  part('text-delta', { id: text, delta: text }, md),
  part('text-end', { id: text }, md),
  part('reasoning-start', { id: text }, md),
  part('reasoning-delta', { id: text, delta: text }, md),
  part('reasoning-end', { id: text }, md),
  part('tool-input-start', { id: text, toolName: text }, { providerExecuted: fc.boolean(), title: text, ...flags }),
  part('tool-input-delta', { id: text, delta: text }, pm),
  part('tool-input-end', { id: text }, pm),
  part(
    'tool-call',
    { toolCallId: text, toolName: text, input: text },
    { providerExecuted: fc.boolean(), nativeName: text, stepToolCallCount: count1, ...flags },
  ),
  part('tool-approval-request', { approvalId: text, toolCallId: text }, pm),
  part(
    'tool-result',
    { toolCallId: text, toolName: text, result: json },
    { isError: fc.boolean(), preliminary: fc.boolean(), ...flags },
  ),
  part('finish-step', { finishReason, usage }, md),
  part('finish', { finishReason, totalUsage: usage }, md),
  part('file-change', { event: fc.constantFrom('create', 'modify', 'delete'), path: text }, md),
  part(
    'compaction',
    { trigger: fc.constantFrom('manual', 'auto'), summary: text },
    { tokensBefore: fc.nat(), tokensAfter: fc.nat(), ...md },
  ),
  part('error', { error: json }),
  part('raw', { rawValue: json }),
) as fc.Arbitrary<StreamPart>;
