// What goes out, as schemas: for the published description and the tests alone. What the server sends is made by the plain types
// that each of these is held to (`answers.test.ts`); nothing is parsed by them at run time.

import * as z from 'zod';

const many = <T extends z.ZodType>(item: T) => z.array(item).readonly();
const open = <T extends z.ZodRawShape>(shape: T) => z.looseObject(shape);
const seconds = z.int().describe('Unix seconds');
const milliseconds = z.int().describe('Unix milliseconds');
const count = z.int().min(0);
const object = z.record(z.string(), z.json());
const id = (prefix: string) => z.string().regex(new RegExp(`^${prefix}`));

export const errorBody = open({
  type: z.enum([
    'invalid_request_error',
    'authentication_error',
    'permission_error',
    'rate_limit_error',
    'harness_error',
    'server_error',
  ]),
  code: z.string(),
  message: z.string().describe('One sentence that is safe to show'),
  param: z.string().nullable(),
  detail: object.nullable(),
}).meta({ id: 'Error' });
export const errorEnvelope = open({ error: errorBody }).meta({ id: 'ErrorEnvelope' });

export const discovery = open({
  object: z.literal('uhp.discovery'),
  protocol: z.literal('uhp'),
  versions: many(z.string()),
  default_version: z.string(),
  conformance_class: z.enum(['core', 'extended', 'full']),
  capabilities: z.record(z.string(), z.boolean()),
  plugin_schemas: many(z.string()).optional(),
  implementation: open({ name: z.string(), version: z.string() }),
}).meta({ id: 'Discovery' });

const skillFile = open({
  path: z.string(),
  content: z.string().optional(),
  content_b64: z.string().optional(),
}).meta({ id: 'SkillFile' });
export const fileList = open({ files: many(skillFile) });
export const plugin = open({
  name: z.string(),
  enabled: z.boolean().optional(),
  skipped: many(object).optional(),
}).meta({
  id: 'Plugin',
});
export const harness = open({
  id: id('chrn_'),
  object: z.literal('harness'),
  name: z.string(),
  base: z.string(),
  baseLabel: z.string(),
  defaultModel: z.string().optional(),
  systemPrompt: z.string(),
  mcpServers: many(
    open({
      name: z.string(),
      url: z.string(),
      transport: z.enum(['http', 'sse']),
      enabled: z.boolean(),
      headers: z.record(z.string(), z.string()).describe('Values are handles'),
      auth: z.string().optional().describe('A handle'),
    }),
  ),
  skills: many(open({ name: z.string(), enabled: z.boolean(), blob: z.string().optional() })),
  plugins: many(plugin),
  environment: z.string(),
  disabledTools: many(z.string()),
  maxStep: z.int().nullable(),
  timeoutSeconds: z.int().nullable(),
  createdAt: milliseconds,
}).meta({ id: 'Harness' });

const model = open({
  id: z.string(),
  label: z.string(),
  backend: z.string(),
  available: z.boolean(),
  default: z.boolean(),
  reins_why: z.string().optional().describe('Why it is not available, and how it would be'),
}).meta({ id: 'Model' });
export const modelCatalog = open({
  backends: z.record(z.string(), open({ default: z.string(), models: many(model) })),
  reins_not_installed: many(open({ base: z.string(), label: z.string(), why: z.string() })).optional(),
}).meta({ id: 'ModelCatalog' });
export const harnessModels = open({
  harness_id: id('chrn_'),
  backend: z.string(),
  default: z.string(),
  models: many(model),
}).meta({ id: 'HarnessModels' });

const itemStatus = z.enum(['in_progress', 'completed', 'incomplete']);
const responseStatus = z.enum(['in_progress', 'completed', 'failed', 'incomplete', 'cancelled']);
const annotation = open({
  type: z.literal('container_file_citation'),
  container_id: id('cntr_'),
  file_id: id('file_'),
  filename: z.string(),
  download_url: z.string(),
  start_index: count,
  end_index: count,
}).meta({ id: 'Annotation' });
const textPart = open({ type: z.literal('output_text'), text: z.string(), annotations: many(annotation) });
const summaryPart = open({ type: z.literal('summary_text'), text: z.string() });
const item = { id: z.string(), status: itemStatus };
export const outputItem = z
  .discriminatedUnion('type', [
    open({ ...item, type: z.literal('message'), role: z.literal('assistant'), content: many(textPart) }),
    open({ ...item, type: z.literal('reasoning'), summary: many(summaryPart) }),
    open({ ...item, type: z.literal('function_call'), call_id: z.string(), name: z.string(), arguments: z.string() }),
    open({ ...item, type: z.literal('function_call_output'), call_id: z.string(), output: z.string() }),
  ])
  .meta({ id: 'OutputItem' });
const tokens = open({
  input_tokens: count.optional(),
  output_tokens: count.optional(),
  total_tokens: count.optional(),
  cache_read_tokens: count.optional(),
  cache_write_tokens: count.optional(),
}).meta({ id: 'TokenUsage' });
const spent = {
  reins_usage: tokens.optional(),
  reins_cost: open({ dollars: z.number().min(0), estimated: z.boolean() })
    .optional()
    .describe('Absent: the price of no model of it is known'),
  reins_cost_partial: z.literal(true).optional().describe('More was used, at a price that is not known'),
};
export const response = open({
  id: id('resp_'),
  object: z.literal('response'),
  created_at: seconds,
  status: responseStatus,
  error: errorBody.nullable(),
  incomplete_details: open({ reason: z.string() }).nullable(),
  previous_response_id: id('resp_').nullable(),
  model: z.string().min(1),
  output: many(outputItem),
  store: z.boolean(),
  usage: tokens.nullable(),
  metadata: object.describe('session_id and harness_id are always there; reins_cost as of a turn; reins_paused'),
}).meta({ id: 'Response' });
export const inputItems = open({ object: z.literal('list'), data: many(z.json()) });

const part = { item_id: z.string(), output_index: count, content_index: count };
const summary = { item_id: z.string(), output_index: count, summary_index: count };
const event = <T extends string, S extends z.ZodRawShape>(type: T, shape: S) =>
  open({ type: z.literal(type), sequence_number: count, ...shape });
export const uhpEvent = z
  .union([
    event('response.created', { response }),
    event('response.in_progress', { response }),
    event('response.output_item.added', { output_index: count, item: outputItem }),
    event('response.content_part.added', { ...part, part: textPart }),
    event('response.output_text.delta', { ...part, delta: z.string() }),
    event('response.output_text.done', { ...part, text: z.string() }),
    event('response.output_text.annotation.added', { ...part, annotation_index: count, annotation }),
    event('response.content_part.done', { ...part, part: textPart }),
    event('response.reasoning_summary_part.added', { ...summary, part: summaryPart }),
    event('response.reasoning_summary_text.delta', { ...summary, delta: z.string() }),
    event('response.reasoning_summary_part.done', { ...summary, part: summaryPart }),
    event('response.function_call_arguments.delta', { item_id: z.string(), output_index: count, delta: z.string() }),
    event('response.function_call_arguments.done', { item_id: z.string(), output_index: count, arguments: z.string() }),
    event('response.output_item.done', { output_index: count, item: outputItem }),
    event('response.completed', { response }),
    event('response.incomplete', { response }),
    event('response.failed', { response }),
    open({ type: z.string().regex(/^reins\./), sequence_number: count }).describe(
      'Only where the task asked for them with metadata.reins_events',
    ),
  ])
  .meta({ id: 'Event' });

export const session = open({
  id: id('hsess'),
  object: z.literal('session'),
  harness_id: id('chrn_'),
  title: z.string(),
  status: responseStatus,
  created_at: seconds,
  updated_at: seconds,
  reins_forked_from: id('resp_').optional(),
  reins_pending: count.optional(),
  reins_paused: z.literal(true).optional(),
  reins_shared: z.literal(true).optional().describe('Told where one session is read'),
}).meta({ id: 'Session' });
export const sessionPage = open({ sessions: many(session), next_cursor: z.string().nullable() });
const turn = open({
  id: id('resp_'),
  object: z.literal('session.turn'),
  status: responseStatus,
  created_at: seconds,
  reins_took_ms: count.optional().describe('Absent while it goes on'),
  user: z.string(),
  assistant: z.string(),
  tools: many(open({ call_id: z.string(), name: z.string(), arguments: z.string() })),
  files: many(open({ id: id('file_'), container_id: id('cntr_'), filename: z.string(), bytes: count })),
  ...spent,
}).meta({ id: 'TurnItem' });
export const turns = open({ turns: many(turn), ...spent });
export const share = open({
  id: id('hshr_'),
  object: z.literal('session.share'),
  url: z.string(),
  enabled: z.boolean(),
  created_at: seconds,
}).meta({ id: 'SessionShare' });
export const shared = open({
  object: z.literal('session.shared'),
  title: z.string(),
  created_at: seconds,
  updated_at: seconds,
  turns: many(object),
  next_cursor: z.string().nullable(),
});

export const file = open({
  id: id('file_'),
  object: z.literal('file'),
  container_id: id('cntr_').optional(),
  filename: z.string(),
  bytes: count,
  created_at: seconds,
  purpose: z.string().optional(),
  reins_deleted: z.literal(true).optional(),
}).meta({ id: 'File' });
export const files = open({ files: many(file) });
export const deleted = open({ id: z.string(), deleted: z.literal(true) });
export const cancelled = open({ id: z.string(), status: responseStatus });

export const approval = open({
  id: id('apr_'),
  object: z.literal('reins.approval'),
  kind: z.enum(['approval', 'question', 'recovery']),
  status: z.string(),
  response_id: id('resp_'),
  session_id: id('hsess'),
  harness_id: z.string().nullable(),
  call_id: z.string(),
  name: z.string(),
  arguments: z.string(),
  arguments_digest: z.string(),
  reason: z.string().nullable(),
  questions: many(object).nullable(),
  agent_path: many(z.string()),
  requested_at: seconds,
  expires_at: seconds.nullable(),
  decision: object.nullable(),
}).meta({ id: 'Approval' });
export const approvals = open({ approvals: many(approval), next_cursor: z.string().nullable() });
export const rules = open({
  rules: many(open({ id: id('rule_'), object: z.literal('reins.rule'), scope: z.string(), name: z.string() })),
  next_cursor: z.string().nullable(),
});
export const message = open({ id: z.string(), object: z.literal('reins.message'), response_id: id('resp_') });
export const queuedTask = open({
  id: z.string(),
  object: z.literal('reins.queued_task'),
  status: z.enum(['queued', 'held', 'started']),
  position: count,
  response_id: id('resp_').nullable(),
}).meta({ id: 'QueuedTask' });
export const queue = open({ queue: many(queuedTask), held: z.boolean() });

export const key = open({
  id: id('key_'),
  object: z.literal('reins.key'),
  principal: z.string(),
  scopes: many(z.string()),
  name: z.string().nullable(),
  created_at: seconds,
  key: z.string().optional().describe('Shown once, when it is made'),
}).meta({ id: 'Key' });
export const keys = open({ keys: many(key) });
export const consoleSession = open({
  object: z.literal('reins.console_session'),
  principal: z.string().nullable().describe('Null: this browser is not signed in'),
  scopes: many(z.string()),
  expires_at: seconds.nullable(),
}).meta({ id: 'ConsoleSession' });
export const delivery = open({
  id: z.string(),
  event: z.string(),
  attempt: count,
  status: z.enum(['pending', 'delivered', 'failed']),
  http_status: z.int().nullable(),
  error: z.string().nullable(),
  at: seconds,
  next_attempt_at: seconds.nullable(),
}).meta({ id: 'Delivery' });
export const deliveries = open({ deliveries: many(delivery), next_cursor: z.string().nullable() });
export const webhook = open({
  id: id('wh_'),
  object: z.literal('reins.webhook'),
  url: z.string(),
  events: many(z.string()).nullable(),
  description: z.string().nullable(),
  enabled: z.boolean(),
  created_at: seconds,
  last_delivery: delivery.nullable(),
  secret: z.string().optional().describe('Shown once, when it is made'),
}).meta({ id: 'Webhook' });
export const webhooks = open({ webhooks: many(webhook) });
export const audit = open({ entries: many(object), next_cursor: z.string().nullable() });
export const usage = open({ principal: z.string() });
export const health = open({
  status: z.string(),
  reason: z.string().optional().describe('Why it takes no work'),
  node: z.string().describe('Names the process that answered; another one after each start'),
});
export const harnessList = open({ harnesses: many(harness) });
export const anything = object;

const toolTrace = z.object({ name: z.string(), ok: z.boolean(), summary: z.string() });
const agentFields = {
  text: z.string(),
  toolTrace: z.array(toolTrace).optional().describe('In the order of the calls'),
  cwd: z.string().optional().describe('Where file and command tools worked; absent: none ran'),
};
export const agentAnswer = z.object(agentFields).meta({ id: 'AgentAnswer' });
export const agentRefusal = z.object({ error: z.string() }).meta({ id: 'AgentRefusal' });
export const chatStopped = z.object({ stopped: z.boolean().describe('False: nothing was at work') });
export const chatMessages = z.object({
  messages: z.array(
    z
      .looseObject({
        id: z.string(),
        role: z.enum(['user', 'assistant']),
        parts: z.array(z.looseObject({ type: z.string() })),
      })
      .meta({ id: 'UIMessage' }),
  ),
  next_cursor: z.string().nullable().describe('Of the turns before these; null: the conversation begins here'),
});
const toolId = z.string().optional();
export const agentEvent = z
  .discriminatedUnion('type', [
    z.object({ type: z.literal('tool_start'), name: z.string(), id: toolId }),
    z.object({ type: z.literal('tool_result'), ...toolTrace.shape, preview: z.string().optional(), id: toolId }),
    z.object({ type: z.enum(['reasoning_delta', 'text_delta']), text: z.string() }),
    z.object({ type: z.literal('attempt_reset'), attempt: count, kept: z.string() }),
    z.object({ type: z.literal('done'), ...agentFields }),
    z.object({ type: z.literal('error'), error: z.string(), status: z.int() }),
  ])
  .meta({ id: 'AgentEvent' });
