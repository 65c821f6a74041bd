// What the tests of parts, and the cross-check with the Go SDK, both go through.

import { emptyUsage, type StreamChunk, type StreamPart } from '../protocol/parts/index.ts';

const counts = { inputTokens: {}, outputTokens: {} };
const stop = { unified: 'stop' };
export const toolResult = { type: 'tool-result', toolCallId: 'c', toolName: 't', result: 1 };
export const toolCall = { type: 'tool-call', toolCallId: 'c', toolName: 't', input: '{}' };
export const finishStep = { type: 'finish-step', finishReason: stop, usage: counts };

/** P-110: what is written as it was read. */
export const roundTrips: readonly (readonly [string, object])[] = [
  ['stream-start, bare', { type: 'stream-start' }],
  [
    'stream-start with all warnings and a model',
    {
      type: 'stream-start',
      warnings: [
        { type: 'unsupported-setting', setting: 'temperature', details: 'no' },
        { type: 'unsupported-tool', tool: 'search' },
        { type: 'other', message: 'careful' },
      ],
      modelId: 'm-1',
    },
  ],
  ['text-start with metadata', { type: 'text-start', id: 't1', harnessMetadata: { pi: { turn: 1 } } }],
  ['text-delta', { type: 'text-delta', id: 't1', delta: 'Hi "you" \\ <&> \u2028' }],
  ['text-end', { type: 'text-end', id: 't1' }],
  ['reasoning-start', { type: 'reasoning-start', id: 'r1' }],
  ['reasoning-delta', { type: 'reasoning-delta', id: 'r1', delta: 'Hm', harnessMetadata: { pi: {} } }],
  ['reasoning-end', { type: 'reasoning-end', id: 'r1' }],
  [
    'tool-input-start with all optionals',
    {
      type: 'tool-input-start',
      id: 'c1',
      toolName: 'bash',
      providerExecuted: true,
      dynamic: false,
      title: '',
      providerMetadata: { x: { y: [null] } },
    },
  ],
  ['tool-input-delta with escaped quotes', { type: 'tool-input-delta', id: 'c1', delta: '{"command":"ls \\"a\\""}' }],
  ['tool-input-end with metadata', { type: 'tool-input-end', id: 'c1', providerMetadata: { x: {} } }],
  [
    'tool-call with native name and count',
    { ...toolCall, providerExecuted: true, nativeName: 'Bash', stepToolCallCount: 2 },
  ],
  ['tool-approval-request', { type: 'tool-approval-request', approvalId: 'a1', toolCallId: 'c1' }],
  ['tool-result, failed and preliminary', { ...toolResult, result: { error: 'x' }, isError: true, preliminary: true }],
  ['tool-result null', { ...toolResult, result: null }],
  [
    'finish-step with full usage and raw',
    {
      type: 'finish-step',
      finishReason: { unified: 'tool-calls', raw: 'tool_use' },
      usage: {
        inputTokens: { total: 10, noCache: 4, cacheRead: 5, cacheWrite: 1 },
        outputTokens: { total: 7, text: 5, reasoning: 2 },
        raw: { input_tokens: 10, nested: { a: null } },
      },
    },
  ],
  ['finish with nothing counted', { type: 'finish', finishReason: stop, totalUsage: counts }],
  ['file-change create', { type: 'file-change', event: 'create', path: '/w/a.ts' }],
  ['file-change modify', { type: 'file-change', event: 'modify', path: '/w/a.ts' }],
  ['file-change delete', { type: 'file-change', event: 'delete', path: '/w/a.ts' }],
  [
    'compaction with both counts',
    { type: 'compaction', trigger: 'auto', summary: '', tokensBefore: 9, tokensAfter: 0 },
  ],
  ['error object', { type: 'error', error: { name: 'E', message: 'm' } }],
  ['error string', { type: 'error', error: 'broken' }],
  ['error null', { type: 'error', error: null }],
  ['raw, mixed', { type: 'raw', rawValue: [1, 'a', null, { b: false }] }],
];

export const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);

/** P-111: what is no part, and what is said of it. */
export const refused: readonly (readonly [string, unknown, object])[] = [
  ['no delta', { type: 'text-delta', id: 'a' }, { code: 'missing_key', partType: 'text-delta', path: 'delta' }],
  ['no id', { type: 'text-start' }, { code: 'missing_key', path: 'id' }],
  ['E6: no result', { ...toolResult, result: undefined }, { code: 'missing_key', path: 'result' }],
  ['E4: a required null', { ...toolCall, input: null }, { code: 'missing_key', path: 'input' }],
  ['no totalUsage', { type: 'finish', finishReason: stop }, { code: 'missing_key', path: 'totalUsage' }],
  ['no unified', { ...finishStep, finishReason: {} }, { code: 'missing_key', path: 'finishReason.unified' }],
  ['E9: a count of 0', { ...toolCall, stepToolCallCount: 0 }, { code: 'bad_value', path: 'stepToolCallCount' }],
  ['E9: a count of -1', { ...toolCall, stepToolCallCount: -1 }, { code: 'bad_value' }],
  ['E9: a count of 2.5', { ...toolCall, stepToolCallCount: 2.5 }, { code: 'bad_value' }],
  ['E9: a count that is text', { ...toolCall, stepToolCallCount: '2' }, { code: 'bad_value' }],
  ['E11: a count beyond 2^53-1', { ...toolCall, stepToolCallCount: 2 ** 53 }, { code: 'bad_value' }],
  ['E17: another reason', { ...finishStep, finishReason: { unified: 'interrupted' } }, { code: 'bad_value' }],
  ['E17: another event', { type: 'file-change', event: 'rename', path: 'p' }, { code: 'bad_value', path: 'event' }],
  ['E17: another trigger', { type: 'compaction', trigger: 'later', summary: '' }, { code: 'bad_value' }],
  ['E19: input that is an object', { ...toolCall, input: {} }, { code: 'bad_value', path: 'input' }],
  [
    'E27: metadata without an object',
    { type: 'text-end', id: 'a', harnessMetadata: { pi: 1 } },
    { path: 'harnessMetadata.pi' },
  ],
  ['a bad token count', { ...finishStep, usage: { inputTokens: { total: '9' } } }, { path: 'usage.inputTokens.total' }],
  ['a bad warning', { type: 'stream-start', warnings: [{ type: 'unsupported-tool' }] }, { path: 'warnings[0].tool' }],
  ['E2: null', 'null', { code: 'not_object' }],
  ['E2: an array', '[]', { code: 'not_object' }],
  ['E2: no type', '{"id":"a"}', { code: 'missing_type', partType: null }],
  ['E2: a type that is a number', { type: 7 }, { code: 'missing_type' }],
  ['no JSON', '{"type":', { code: 'not_json' }],
  ['bytes that are no UTF-8', new Uint8Array([0x22, 0xff, 0x22]), { code: 'not_json' }],
  ['257 levels', `{"type":"raw","rawValue":${nested(256)}}`, { code: 'too_large' }],
  ['over-long text', `"${'x'.repeat(16 * 2 ** 20)}"`, { code: 'too_large' }],
];

/** P-112: what is read although one of the SDKs would not, and how it is written again. */
export const edges: readonly (readonly [string, unknown, object])[] = [
  ['E3: an extra key is dropped', { ...toolResult, seq: 4 }, toolResult],
  ['E5: null is a result', { ...toolResult, result: null }, { ...toolResult, result: null }],
  [
    'E7: null on what is optional is absence',
    { ...toolCall, providerExecuted: null, nativeName: null, stepToolCallCount: null, providerMetadata: null },
    toolCall,
  ],
  [
    'E7: in usage and reason, too',
    {
      ...finishStep,
      finishReason: { unified: 'stop', raw: null },
      usage: { ...counts, raw: null, inputTokens: { total: null } },
    },
    finishStep,
  ],
  [
    'E8: what is empty or false is kept',
    { type: 'tool-input-start', id: '', toolName: '', providerExecuted: false, title: '', providerMetadata: {} },
    { type: 'tool-input-start', id: '', toolName: '', providerExecuted: false, title: '', providerMetadata: {} },
  ],
  ['E8: an empty list is kept', { type: 'stream-start', warnings: [] }, { type: 'stream-start', warnings: [] }],
  [
    'E10: 2.0 is 2',
    `{"type":"tool-call","toolCallId":"c","toolName":"t","input":"{}","stepToolCallCount":2.0}`,
    { ...toolCall, stepToolCallCount: 2 },
  ],
  [
    'E12: a fractional count is rounded half up',
    { type: 'compaction', trigger: 'manual', summary: 's', tokensBefore: 2.5, tokensAfter: 0.4 },
    { type: 'compaction', trigger: 'manual', summary: 's', tokensBefore: 3, tokensAfter: 0 },
  ],
  [
    'E13: a count beyond 2^53-1 is not known, either',
    { ...finishStep, usage: { ...counts, outputTokens: { total: 2 ** 53, text: 2 ** 53 - 1 } } },
    { ...finishStep, usage: { ...counts, outputTokens: { text: 2 ** 53 - 1 } } },
  ],
  [
    'E13: a count that is none is not known',
    `{"type":"compaction","trigger":"manual","summary":"s","tokensBefore":-1,"tokensAfter":1e999}`,
    { type: 'compaction', trigger: 'manual', summary: 's' },
  ],
  ['E14: usage without its halves is empty', { ...finishStep, usage: {} }, finishStep],
  [
    'E14: usage without one half',
    { ...finishStep, usage: { outputTokens: { total: 3 } } },
    { ...finishStep, usage: { inputTokens: {}, outputTokens: { total: 3 } } },
  ],
  [
    'E15: a warning of another type',
    { type: 'stream-start', warnings: [{ type: 'deprecated', setting: 'x'.repeat(400) }] },
    {
      type: 'stream-start',
      warnings: [{ type: 'other', message: `{"type":"deprecated","setting":"${'x'.repeat(268)}` }],
    },
  ],
  [
    'E16: a warning without its message',
    { type: 'stream-start', warnings: [{ type: 'other' }] },
    { type: 'stream-start', warnings: [{ type: 'other', message: '' }] },
  ],
  ['E18: an error without its value', { type: 'error' }, { type: 'error', error: null }],
  ['E18: raw without its value', { type: 'raw' }, { type: 'raw', rawValue: null }],
  ['E20: input that is no JSON', { ...toolCall, input: '{"a":' }, { ...toolCall, input: '{"a":' }],
  ['E21: keys in another case are other keys', { type: 'text-end', id: 'a', ID: 'b' }, { type: 'text-end', id: 'a' }],
  [
    'E22: of the same key twice the last counts',
    '{"type":"text-end","id":"a","id":"b"}',
    { type: 'text-end', id: 'b' },
  ],
  [
    'E24: a lone surrogate is written as U+FFFD',
    { type: 'text-delta', id: 'a', delta: 'x\uD800y', harnessMetadata: { p: { '\uDC00': 1 } } },
    { type: 'text-delta', id: 'a', delta: 'x\uFFFDy', harnessMetadata: { p: { '\uFFFD': 1 } } },
  ],
  ['E25: -0 is written as 0', '{"type":"raw","rawValue":-0}', { type: 'raw', rawValue: 0 }],
  ['E28: keys of younger providers', { type: 'text-end', id: 'a', citations: [] }, { type: 'text-end', id: 'a' }],
];

/** P-042, P-043: texts, and what is shown of them. */
export const strippedFrom = '/box/s1';
export const strippedTexts: readonly (readonly [string, string])[] = [
  ['{"file_path":"/box/s1/src/a.ts"}', '{"file_path":"src/a.ts"}'],
  ['cd /box/s1 && ls', 'cd . && ls'],
  ['cd /box/s1; ls', 'cd .; ls'],
  ['/box/s1/a.ts:12:3: x', 'a.ts:12:3: x'],
  ['x=/box/s1/b', 'x=b'],
  ['/box/s1/box/s1/c', 'box/s1/c'],
  ['/box/s1/../etc', '../etc'],
  ['/box/s1/', '.'],
  ['/box/s1//a', 'a'],
  ['/box/s1/// x', '. x'],
  ['`/box/s1`', '`.`'],
  ['/box/s1 /box/s1/a\u00A0/box/s1', '. a\u00A0.'],
  ['/box/s10/a', '/box/s10/a'],
  ['origin/box/s1/foo', 'origin/box/s1/foo'],
  ['(/box/s1/a)', '(/box/s1/a)'],
  ['a:/box/s1/b', 'a:/box/s1/b'],
  ['file:///box/s1/b', 'file:///box/s1/b'],
  ['[/box/s1/a]', '[/box/s1/a]'],
  ['/box/s1: is a dir', '/box/s1: is a dir'],
  ['/box/s1, and', '/box/s1, and'],
];

/** P-044: pieces of tool input, and the pieces that are shown. */
export const strippedPieces: readonly (readonly [readonly string[], readonly string[]])[] = [
  [
    ['cd /box/s1', '; ls'],
    ['cd ', '.; ls'],
  ],
  [
    ['{"p":"/bo', 'x/s', '1/a.ts"}'],
    ['{"p":"', 'a.ts"}'],
  ],
  [
    ['foo', '/box/s1/bar'],
    ['foo', '/box/s1/bar'],
  ],
  [['"/box/s1'], ['"', '.']],
  [['/box/s1/', '/', '/a'], ['a']],
  [['/box/s1/', '/'], ['.']],
];

const md = { harnessMetadata: { pi: { a: 1 } } };
const asProvider = { providerMetadata: md.harnessMetadata };
const about = { toolCallId: 'c', toolName: 't' };
const finish = { finishReason: { unified: 'stop', raw: undefined } } as const;

/** P-045: parts, and the chunks that they are. */
export const translated: readonly (readonly [StreamPart, readonly StreamChunk[]])[] = [
  [{ type: 'text-start', id: 'a', ...md }, [{ type: 'text-start', id: 'a', ...asProvider }]],
  [{ type: 'text-delta', id: 'a', delta: 'x' }, [{ type: 'text-delta', id: 'a', text: 'x' }]],
  [{ type: 'text-end', id: 'a' }, [{ type: 'text-end', id: 'a' }]],
  [{ type: 'reasoning-start', id: 'a' }, [{ type: 'reasoning-start', id: 'a' }]],
  [
    { type: 'reasoning-delta', id: 'a', delta: 'x', ...md },
    [{ type: 'reasoning-delta', id: 'a', text: 'x', ...asProvider }],
  ],
  [{ type: 'reasoning-end', id: 'a' }, [{ type: 'reasoning-end', id: 'a' }]],
  [{ type: 'tool-call', ...about, input: '{}' }, []],
  [{ type: 'tool-approval-request', approvalId: 'a', toolCallId: 'c' }, []],
  [{ type: 'stream-start', modelId: 'm' }, []],
  [{ type: 'finish-step', ...finish, usage: emptyUsage() }, []],
  [{ type: 'finish', ...finish, totalUsage: emptyUsage() }, []],
  [{ type: 'error', error: { name: 'E' } }, [{ type: 'error', error: { name: 'E' } }]],
  [{ type: 'raw', rawValue: [1] }, [{ type: 'raw', rawValue: [1] }]],
  [
    { type: 'tool-result', ...about, result: 1, preliminary: true, dynamic: false, ...asProvider },
    [
      {
        type: 'tool-result',
        ...about,
        input: undefined,
        output: 1,
        preliminary: true,
        dynamic: false,
        ...asProvider,
      },
    ],
  ],
  [
    { type: 'tool-result', ...about, result: { why: 'no' }, isError: true, preliminary: true, dynamic: true },
    [{ type: 'tool-error', ...about, input: undefined, error: { why: 'no' }, providerExecuted: true, dynamic: true }],
  ],
];
