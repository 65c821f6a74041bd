export { connect } from './connect.ts';
export type { AttachOptions, Client, ClientOptions, RunOptions } from './connect.ts';
export {
  AuthenticationError,
  ConflictError,
  ConnectionError,
  IdempotencyMismatchError,
  InvalidRequestError,
  NotCompletedError,
  NotFoundError,
  PermissionError,
  ProtocolError,
  QuotaError,
  RateLimitError,
  ServerError,
  SessionBusyError,
  TimeoutError,
  UhpError,
} from './errors.ts';
export type { AgentRequest } from './agent-verb.ts';
export type { FeedEvent, FeedOptions } from './follow-feed.ts';
export type { ParsedEvent, TaskEvent, UhpErrorEvent } from './parse-event.ts';
export type { Result, Snapshot } from './result.ts';
export type { ServerFacts } from './client-parts.ts';
export type { StreamOptions, StreamSource } from './stream-once.ts';
export type { Task } from './task.ts';
export type { InputItem, InputPart, RunRequest, VerbOptions } from './shapes.ts';
export type { OutputItem, UhpResponse, UhpUsage } from '../protocol/uhp/response.ts';
export type { UhpEvent } from '../protocol/uhp/events.ts';
export type { SessionShare, TurnItem, UhpSession } from '../protocol/uhp/session.ts';
export type { UhpFile } from '../protocol/uhp/file.ts';
