// What people say to tasks: approvals, rules, steering, follow-ups. Extensions: `probe()` says whether a server has them.

import { path } from './transport.ts';
import type { Approval } from '../protocol/uhp/approval.ts';
import type { ClientParts } from './client-parts.ts';
import type { Deleted, InputItem, Page, RunRequest, VerbOptions } from './shapes.ts';
import type { UhpMessage } from '../protocol/uhp/steer.ts';
import type { UhpQueue, UhpQueuedTask } from '../protocol/uhp/queue.ts';
import type { UhpRule } from '../protocol/uhp/rule.ts';

export type ApprovalVerbs = ReturnType<typeof approvalVerbs>;
export type RuleVerbs = ReturnType<typeof ruleVerbs>;
export type QueueVerbs = ReturnType<typeof queueVerbs>;

export interface ApprovalQuery extends Page {
  /** Absent: open ones. */
  readonly status?: Approval['status'] | 'open' | 'all';
  readonly kind?: Approval['kind'];
  readonly session?: string;
  readonly response?: string;
}

export interface Decision {
  readonly decision: 'approve' | 'deny';
  /** Of the approval that was shown: other arguments are then not decided by mistake. */
  readonly arguments_digest?: string;
  readonly note?: string;
  readonly remember?: Pick<UhpRule, 'scope' | 'match'>;
}

export type Answers =
  | {
      readonly answers: readonly {
        readonly id: string;
        readonly selected?: readonly string[];
        readonly text?: string;
      }[];
    }
  | { readonly declined: true };

export type Resolution =
  | { readonly action: 'result'; readonly output: string; readonly is_error?: boolean }
  | { readonly action: 'retry' | 'abort' };

/** The same word again gives the stored record, so a try too much does no harm (UR-31). */
export function approvalVerbs({ transport: { json } }: ClientParts) {
  const say = (verb: string) => (id: string, body: object, options?: VerbOptions) =>
    json<Approval>({
      method: 'POST',
      path: `${path`/v1/reins/approvals/${id}/`}${verb}`,
      body,
      repeatable: true,
      ...options,
    });
  return {
    list: (query: ApprovalQuery = {}, options?: VerbOptions) =>
      json<{ readonly approvals: readonly Approval[]; readonly next_cursor: string | null }>({
        path: '/v1/reins/approvals',
        query: { ...query },
        ...options,
      }),
    get: (id: string, options?: VerbOptions) => json<Approval>({ path: path`/v1/reins/approvals/${id}`, ...options }),
    decide: (id: string, body: Decision, options?: VerbOptions) => say('decide')(id, body, options),
    answer: (id: string, body: Answers, options?: VerbOptions) => say('answer')(id, body, options),
    resolve: (id: string, body: Resolution, options?: VerbOptions) => say('resolve')(id, body, options),
  };
}

export function ruleVerbs({ transport: { json } }: ClientParts) {
  return {
    list: (query: Page & { readonly session?: string } = {}, options?: VerbOptions) =>
      json<{ readonly rules: readonly UhpRule[]; readonly next_cursor: string | null }>({
        path: '/v1/reins/rules',
        query: { ...query },
        ...options,
      }),
    delete: (id: string, options?: VerbOptions) =>
      json<Deleted>({ method: 'DELETE', path: path`/v1/reins/rules/${id}`, ...options }),
  };
}

export interface MessageOptions extends VerbOptions {
  /** Under which the server takes it in once; absent: a new one. */
  readonly messageId?: string;
}

/** A word to a task at work. */
export function steerVerb({ transport: { json }, random }: ClientParts) {
  return (
    responseId: string,
    input: string | readonly InputItem[],
    { messageId = random.token(), ...options }: MessageOptions = {},
  ) =>
    json<UhpMessage>({
      method: 'POST',
      path: path`/v1/reins/responses/${responseId}/steer`,
      body: { input, message_id: messageId },
      repeatable: true,
      ...options,
    });
}

/** Tasks that wait for their session. */
export function queueVerbs({ transport: { json }, random }: ClientParts) {
  return {
    add: (
      sessionId: string,
      request: Omit<RunRequest, 'previous_response_id'>,
      { messageId = random.token(), ...options }: MessageOptions = {},
    ) =>
      json<UhpQueuedTask>({
        method: 'POST',
        path: path`/v1/reins/sessions/${sessionId}/queue`,
        body: { ...request, message_id: messageId },
        repeatable: true,
        ...options,
      }),
    list: (sessionId: string, options?: VerbOptions) =>
      json<UhpQueue>({ path: path`/v1/reins/sessions/${sessionId}/queue`, ...options }),
    remove: (sessionId: string, messageId: string, options?: VerbOptions) =>
      json<Deleted>({ method: 'DELETE', path: path`/v1/reins/sessions/${sessionId}/queue/${messageId}`, ...options }),
    /** Lets a held queue go on. */
    resume: (sessionId: string, options?: VerbOptions) =>
      json<UhpQueue>({
        method: 'POST',
        path: path`/v1/reins/sessions/${sessionId}/queue/resume`,
        repeatable: true,
        ...options,
      }),
  };
}
