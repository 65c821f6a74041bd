// Every operation of the HTTP interface with what it takes and gives; `document.test.ts` holds it to the routes.

import * as answers from './answers.ts';
import { agentBody } from '../agent/request.ts';
import { chatBody } from '../ui/chat-request.ts';
import { answerBody, decideBody, resolveBody } from '../uhp/approval.ts';
import { createResponseBody } from '../uhp/request.ts';
import { harnessBody } from '../uhp/harness-write.ts';
import { newKey } from '../uhp/key.ts';
import { signInBody } from '../uhp/console-session.ts';
import { renameBody, shareBody } from '../uhp/session.ts';
import { steerBody } from '../uhp/steer.ts';
import { webhookBody } from '../uhp/webhook.ts';
import type { ZodType } from 'zod';

export interface Operation {
  readonly summary: string;
  /** JSON; `form`: a file in the field `file`. Absent: none is read. */
  readonly body?: ZodType | 'form';
  /** JSON; a media type: its bytes; `stream`: the events of `Event`. */
  readonly answer: ZodType | string;
  /** Streams where it is asked to; the schema is that of an event which is not the protocol's. */
  readonly streams?: true | ZodType;
  /** Body of a refusal; absent: the protocol's. */
  readonly refusal?: ZodType;
  readonly query?: readonly string[];
  readonly headers?: readonly string[];
  /** Codes of errors beside those that every operation has. */
  readonly errors?: readonly string[];
}

const paging = ['limit', 'cursor'];
const admin = ['insufficient_scope'];
const approvalErrors = ['reins_approval_not_found', 'reins_approval_conflict', 'reins_approval_closed'];
const taskErrors = [
  'harness_not_found',
  'response_not_found',
  'session_expired',
  'file_not_found',
  'harness_mismatch',
  'session_busy',
  'reins_not_session_tip',
  'reins_fork_unavailable',
  'file_too_large',
  'model_unavailable',
  'rate_limited',
  'quota_exhausted',
  'harness_unavailable',
  'reins_closing',
];
const pluginErrors = [
  'unsupported_base',
  'plugin_invalid',
  'plugin_conflict',
  'unsupported_plugin_schema',
  'unsupported_transport',
  'file_too_large',
];

/** By method and path, as the router writes it. */
export const operations: Readonly<Record<string, Operation>> = {
  'GET /v1/uhp': { summary: 'What this server can do', answer: answers.discovery },
  'GET /v1/harnesses': { summary: 'List your harnesses', answer: answers.harnessList },
  'POST /v1/harnesses': { summary: 'Make a harness', body: harnessBody, answer: answers.harness, errors: pluginErrors },
  'GET /v1/harnesses/:id': { summary: 'Read a harness', answer: answers.harness, errors: ['harness_not_found'] },
  'PUT /v1/harnesses/:id': {
    summary: 'Change a harness: absent keys stay, null clears',
    body: harnessBody,
    answer: answers.harness,
    errors: ['harness_not_found', ...pluginErrors],
  },
  'DELETE /v1/harnesses/:id': { summary: 'Delete a harness', answer: answers.deleted, errors: ['harness_not_found'] },
  'GET /v1/harnesses/:id/models': {
    summary: 'Models of a harness',
    answer: answers.harnessModels,
    errors: ['harness_not_found'],
  },
  'GET /v1/harnesses/:id/events': {
    summary: 'Live events of all its tasks',
    answer: 'stream',
    errors: ['harness_not_found'],
  },
  'GET /v1/harnesses/:id/skills/:name/files': {
    summary: 'Files of a skill',
    answer: answers.fileList,
    errors: ['harness_not_found', 'reins_skill_not_found'],
  },
  'GET /v1/harnesses/:id/plugins/:name/files': {
    summary: 'Files of a plugin',
    answer: answers.fileList,
    errors: ['harness_not_found', 'plugin_not_found'],
  },
  'GET /v1/harnesses/:id/plugin': {
    summary: 'The harness as a plugin',
    answer: answers.plugin,
    errors: ['harness_not_found'],
  },
  'GET /v1/models': { summary: 'Models by harness base', answer: answers.modelCatalog },
  'POST /v1/responses': {
    summary: 'Run a task',
    body: createResponseBody,
    answer: answers.response,
    streams: true,
    headers: ['Idempotency-Key', 'Last-Event-ID'],
    errors: [...taskErrors, 'reins_cursor_without_key', 'reins_cursor_out_of_range', 'reins_event_log_expired'],
  },
  'POST /api/agent': {
    summary: 'Run a turn that ends with the call; its events where Accept names text/event-stream',
    body: agentBody,
    answer: answers.agentAnswer,
    streams: answers.agentEvent,
    refusal: answers.agentRefusal,
    headers: ['Accept'],
  },
  'POST /api/chat': {
    summary: 'Say something in a chat, or answer what it waits for; streams chunks of UI messages of the AI SDK',
    body: chatBody,
    answer: 'text/event-stream',
    refusal: answers.agentRefusal,
  },
  'GET /api/chat/:id/stream': {
    summary: 'Watch the message at work from its beginning; 204: nothing is at work',
    answer: 'text/event-stream',
    refusal: answers.agentRefusal,
    query: ['chunks', 'sendReasoning'],
  },
  'POST /api/chat/:id/stop': {
    summary: 'Stop the turn at work',
    answer: answers.chatStopped,
    refusal: answers.agentRefusal,
  },
  'GET /api/chat/:id/messages': {
    summary: 'The newest turns of the conversation as UI messages',
    answer: answers.chatMessages,
    refusal: answers.agentRefusal,
    query: paging,
  },
  'GET /v1/responses/:id': {
    summary: 'Read a response, or with stream=true follow it',
    answer: answers.response,
    streams: true,
    query: ['stream', 'starting_after', 'reins_events'],
    headers: ['Last-Event-ID'],
    errors: ['response_not_found', 'reins_cursor_out_of_range', 'reins_event_log_expired'],
  },
  'DELETE /v1/responses/:id': {
    summary: 'Delete a response; its task goes on',
    answer: answers.deleted,
    errors: ['response_not_found'],
  },
  'GET /v1/responses/:id/input_items': {
    summary: 'What was asked',
    answer: answers.inputItems,
    errors: ['response_not_found'],
  },
  'POST /v1/responses/:id/cancel': { summary: 'Stop a task', answer: answers.response, errors: ['response_not_found'] },
  'GET /v1/sessions': { summary: 'List sessions', answer: answers.sessionPage, query: [...paging, 'harness'] },
  'GET /v1/sessions/:id': {
    summary: 'Read a session',
    answer: answers.session,
    errors: ['session_not_found', 'session_expired'],
  },
  'DELETE /v1/sessions/:id': {
    summary: 'Delete a session with all it holds',
    answer: answers.deleted,
    errors: ['session_not_found'],
  },
  'DELETE /v1/traces/:id': {
    summary: 'The same under its older name',
    answer: answers.deleted,
    errors: ['session_not_found'],
  },
  'GET /v1/sessions/:id/turns': {
    summary: 'Its tasks',
    answer: answers.turns,
    errors: ['session_not_found', 'session_expired'],
  },
  'POST /v1/sessions/:id/cancel': {
    summary: 'Stop what runs in it',
    answer: answers.cancelled,
    errors: ['session_not_found'],
  },
  'GET /v1/sessions/:id/files': {
    summary: 'What its tasks made',
    answer: answers.files,
    errors: ['session_not_found', 'session_expired'],
  },
  'GET /v1/sessions/:id/files/archive': {
    summary: 'All of it as a zip',
    answer: 'application/zip',
    errors: ['session_not_found', 'session_expired'],
  },
  'GET /v1/sessions/:id/share': {
    summary: 'Read the share',
    answer: answers.share,
    errors: ['session_not_found', 'reins_share_not_found'],
  },
  'POST /v1/sessions/:id/share': {
    summary: 'Publish a session',
    body: shareBody,
    answer: answers.share,
    errors: ['session_not_found'],
  },
  'DELETE /v1/sessions/:id/share': {
    summary: 'Revoke every link',
    answer: answers.share,
    errors: ['session_not_found', 'reins_share_not_found'],
  },
  'GET /v1/shared/:secret': {
    summary: 'A published session, as JSON or HTML',
    answer: answers.shared,
    query: ['cursor'],
    errors: ['reins_share_not_found'],
  },
  'POST /v1/files': {
    summary: 'Upload a file',
    body: 'form',
    answer: answers.file,
    errors: ['file_too_large', 'quota_exhausted'],
  },
  'GET /v1/containers/:container/files/:file/content': {
    summary: 'Download an artifact',
    answer: '*/*',
    headers: ['Range', 'If-Range', 'If-None-Match'],
    errors: ['file_not_found'],
  },
  'GET /v1/containers/:container/files/:file/pdf': {
    summary: 'An artifact as PDF',
    answer: 'application/pdf',
    errors: ['file_not_found', 'rate_limited', 'preview_unavailable', 'preview_failed'],
  },
  'GET /v1/reins/approvals': {
    summary: 'What waits for a person',
    answer: answers.approvals,
    query: [...paging, 'status', 'kind', 'session', 'response'],
  },
  'GET /v1/reins/approvals/:id': {
    summary: 'Read one',
    answer: answers.approval,
    errors: ['reins_approval_not_found'],
  },
  'POST /v1/reins/approvals/:id/decide': {
    summary: 'Approve or deny',
    body: decideBody,
    answer: answers.approval,
    errors: approvalErrors,
  },
  'POST /v1/reins/approvals/:id/answer': {
    summary: 'Answer a question',
    body: answerBody,
    answer: answers.approval,
    errors: approvalErrors,
  },
  'POST /v1/reins/approvals/:id/resolve': {
    summary: 'Say what became of a call',
    body: resolveBody,
    answer: answers.approval,
    errors: approvalErrors,
  },
  'GET /v1/reins/rules': { summary: 'Remembered decisions', answer: answers.rules, query: [...paging, 'session'] },
  'DELETE /v1/reins/rules/:id': { summary: 'Forget one', answer: answers.deleted, errors: ['reins_rule_not_found'] },
  'POST /v1/reins/responses/:id/steer': {
    summary: 'Say something to a running task',
    body: steerBody,
    answer: answers.message,
    errors: ['response_not_found', 'reins_task_ended', 'reins_idempotency_conflict', 'reins_capability_unsupported'],
  },
  'POST /v1/reins/responses/:id/pause': {
    summary: 'Let a task come to rest: what it has begun ends, nothing new begins',
    answer: answers.response,
    errors: ['response_not_found'],
  },
  'POST /v1/reins/responses/:id/resume': {
    summary: 'Let a paused task go on',
    answer: answers.response,
    errors: ['response_not_found', 'reins_task_pausing'],
  },
  'PATCH /v1/reins/sessions/:id': {
    summary: 'Give a session a title',
    body: renameBody,
    answer: answers.session,
    errors: ['session_not_found', 'session_expired'],
  },
  'GET /v1/reins/sessions/:id/queue': {
    summary: 'Follow-ups that wait',
    answer: answers.queue,
    errors: ['session_not_found'],
  },
  'POST /v1/reins/sessions/:id/queue': {
    summary: 'Put a task behind the running one',
    body: createResponseBody,
    answer: answers.queuedTask,
    errors: ['session_not_found', 'reins_idempotency_conflict', 'rate_limited'],
  },
  'DELETE /v1/reins/sessions/:id/queue/:message': {
    summary: 'Take one back',
    answer: answers.deleted,
    errors: ['reins_message_not_found'],
  },
  'DELETE /v1/reins/sessions/:id/queue/resume': {
    summary: 'Take back the entry of this name',
    answer: answers.deleted,
    errors: ['reins_message_not_found'],
  },
  'POST /v1/reins/sessions/:id/queue/resume': {
    summary: 'Let a held queue go on',
    answer: answers.queue,
    errors: ['session_not_found'],
  },
  'GET /v1/reins/keys': { summary: 'List keys', answer: answers.keys, errors: admin },
  'POST /v1/reins/keys': { summary: 'Make a key', body: newKey, answer: answers.key, errors: admin },
  'DELETE /v1/reins/keys/:id': {
    summary: 'Revoke a key',
    answer: answers.deleted,
    errors: [...admin, 'reins_key_not_found'],
  },
  'GET /v1/reins/webhooks': { summary: 'List webhooks', answer: answers.webhooks, errors: admin },
  'POST /v1/reins/webhooks': {
    summary: 'Make a webhook',
    body: webhookBody,
    answer: answers.webhook,
    errors: [...admin, 'reins_webhook_url_refused', 'reins_webhook_limit'],
  },
  'GET /v1/reins/webhooks/:id': {
    summary: 'Read a webhook',
    answer: answers.webhook,
    errors: [...admin, 'reins_webhook_not_found'],
  },
  'PUT /v1/reins/webhooks/:id': {
    summary: 'Change a webhook',
    body: webhookBody,
    answer: answers.webhook,
    errors: [...admin, 'reins_webhook_not_found', 'reins_webhook_url_refused'],
  },
  'DELETE /v1/reins/webhooks/:id': {
    summary: 'Delete a webhook',
    answer: answers.deleted,
    errors: [...admin, 'reins_webhook_not_found'],
  },
  'POST /v1/reins/webhooks/:id/test': {
    summary: 'Send a test now',
    answer: answers.delivery,
    errors: [...admin, 'reins_webhook_not_found'],
  },
  'GET /v1/reins/webhooks/:id/deliveries': {
    summary: 'What was sent',
    answer: answers.deliveries,
    query: paging,
    errors: [...admin, 'reins_webhook_not_found'],
  },
  'GET /v1/reins/audit': {
    summary: 'Who did what',
    answer: answers.audit,
    query: [...paging, 'principal', 'action'],
    errors: admin,
  },
  'GET /v1/reins/usage': { summary: 'What you have used of what you may', answer: answers.usage },
  'GET /v1/reins/console/session': {
    summary: 'Who this browser is signed in as at the console',
    answer: answers.consoleSession,
  },
  'POST /v1/reins/console/session': {
    summary: 'Sign in with a key, or the ticket of the link that the server prints: sets the cookie',
    body: signInBody,
    answer: answers.consoleSession,
    errors: ['invalid_credential', 'reins_ticket_invalid', 'reins_foreign_origin', 'file_too_large'],
  },
  'DELETE /v1/reins/console/session': {
    summary: 'Sign out',
    answer: answers.consoleSession,
    errors: ['reins_foreign_origin'],
  },
  'GET /v1/reins/openapi.json': { summary: 'This description', answer: answers.anything },
  'GET /docs': { summary: 'This description for people', answer: 'text/html' },
  'GET /': { summary: 'The console page', answer: 'text/html' },
  'GET /s/:id': { summary: 'The console page, at a session', answer: 'text/html' },
  'GET /assets/:name': { summary: 'What the console page loads', answer: 'application/octet-stream' },
  'GET /healthz': { summary: 'Whether the process turns', answer: answers.health },
  'GET /readyz': { summary: 'Whether it takes work', answer: answers.health },
  'GET /metrics': { summary: 'Figures for Prometheus', answer: 'text/plain', errors: admin },
};
