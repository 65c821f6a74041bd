// Sessions and their turns as they are shown: from stored records, stored responses and what was asked.

import { containerOf, type FileId, type HarnessId, type RunId, type SessionId } from '../core/ids.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../core/json.ts';
import type { ResponseStatus, UhpResponse } from '../protocol/uhp/response.ts';
import { head } from '../core/text.ts';
import { spentBy } from './session-spending.ts';
import type { SharedSession, SharedTurn, TurnItem, TurnTool, UhpSession } from '../protocol/uhp/session.ts';

export type { SharedSession, SharedTurn, TurnItem, UhpSession, UhpSpent } from '../protocol/uhp/session.ts';

export interface SessionFacts {
  readonly sessionId: SessionId;
  readonly harnessId: HarnessId;
  readonly title: string;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
  readonly forkedFrom: RunId | null;
}

export function toSession(
  { sessionId, harnessId, title, createdAtMs, updatedAtMs, forkedFrom }: SessionFacts,
  standing: { readonly status: ResponseStatus; readonly pending: number; readonly isPaused?: boolean },
): UhpSession {
  const { status, pending, isPaused = false } = standing;
  return {
    id: sessionId,
    object: 'session',
    harness_id: harnessId,
    title,
    status,
    created_at: Math.floor(createdAtMs / 1_000),
    updated_at: Math.floor(updatedAtMs / 1_000),
    ...(forkedFrom === null ? {} : { reins_forked_from: forkedFrom }),
    ...(pending === 0 ? {} : { reins_pending: pending }),
    ...(isPaused ? { reins_paused: true } : {}),
  };
}

export interface TurnFacts {
  readonly runId: RunId;
  readonly sessionId: SessionId;
  readonly createdAtMs: number;
  readonly endedAtMs: number | null;
  readonly response: UhpResponse | JsonObject;
  readonly inputItems: readonly JsonValue[];
  readonly files: readonly { readonly fileId: FileId; readonly filename: string; readonly bytes: number }[];
}

export function toTurn({ runId, sessionId, createdAtMs, endedAtMs, response, inputItems, files }: TurnFacts): TurnItem {
  const container_id = containerOf(sessionId);
  return {
    id: runId,
    object: 'session.turn',
    status: statusOf(response),
    created_at: Math.floor(createdAtMs / 1_000),
    ...(endedAtMs === null ? {} : { reins_took_ms: Math.max(0, endedAtMs - createdAtMs) }),
    user: userTextOf(inputItems),
    ...digestOutput(response.output),
    files: files.map(({ fileId, filename, bytes }) => ({ id: fileId, container_id, filename, bytes })),
    ...spentBy(response),
  };
}

/** What a stranger with the link sees (UD-31). */
export function toShared(session: UhpSession, turns: readonly SharedTurn[], next: string | null): SharedSession {
  const { title, created_at, updated_at } = session;
  return { object: 'session.shared', title, created_at, updated_at, turns, next_cursor: next };
}

/** Of one turn; what is longer is cut, and named as that by its end. */
const mostShared = { textUnits: 65_536, argumentUnits: 8_192, entries: 200 };

export function toSharedTurn({ status, created_at, user, assistant, tools, files }: TurnItem): SharedTurn {
  const { textUnits, argumentUnits, entries } = mostShared;
  return {
    status,
    created_at,
    user: cut(user, textUnits),
    assistant: cut(assistant, textUnits),
    tools: tools.slice(0, entries).map((tool) => ({ name: tool.name, arguments: cut(tool.arguments, argumentUnits) })),
    files: files.slice(0, entries).map(({ filename, bytes }) => ({ filename, bytes })),
  };
}

function cut(text: string, units: number): string {
  return text.length <= units ? text : `${head(text, units)}…`;
}

const statuses = ['in_progress', 'completed', 'failed', 'incomplete', 'cancelled'] as const;

export function statusOf(response: UhpResponse | JsonObject): ResponseStatus {
  return statuses.find((status) => status === response['status']) ?? 'in_progress';
}

/** The final text of an output, what tools were called, in order. */
function digestOutput(output: unknown): Pick<TurnItem, 'assistant' | 'tools'> {
  const tools: TurnTool[] = [];
  let assistant = '';
  for (const item of Array.isArray(output) ? output : []) {
    if (!isJsonObject(item)) continue;
    const { type, name, arguments: args, call_id: callId } = item;
    if (type === 'function_call' && typeof name === 'string' && typeof args === 'string') {
      tools.push({ call_id: typeof callId === 'string' ? callId : '', name, arguments: args });
      assistant = '';
    } else if (type === 'message') assistant += textOf(item['content']);
  }
  return { assistant, tools };
}

/** The words of a user in the items of an input. */
function userTextOf(items: readonly JsonValue[]): string {
  const texts = items.flatMap((item) =>
    isJsonObject(item) && (item['role'] ?? 'user') === 'user' ? [textOf(item['content'])] : [],
  );
  return texts.filter((text) => text !== '').join('\n\n');
}

function textOf(content: JsonValue | undefined): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  const texts = content.map((part) => (isJsonObject(part) && typeof part['text'] === 'string' ? part['text'] : ''));
  return texts.filter((text) => text !== '').join('\n');
}
