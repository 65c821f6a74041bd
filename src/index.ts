// A program's compiler need not be told of Node's types: `preserve` keeps this line in the declarations.
/// <reference types="node" preserve="true" />

export { createAgent, type AgentParts, type SubAgentParts } from './agent.ts';
export { createServer } from './create-server.ts';
export { fromHarnessV1, type FromHarnessV1Options } from './harnesses/harness-v1/from-harness-v1.ts';
export { toHarnessV1, type ToHarnessV1Options } from './to-harness-v1.ts';
export type { ReinsHarnessV1 } from './runtimes/harness-v1/harness-v1.ts';
export type { Parts as ServerParts } from './compose.ts';
export type { Server } from './server.ts';
export { loadConfig, type Config, type ConfigSources } from './config.ts';
export {
  ApprovalClosedError,
  ApprovalConflictError,
  ConfigurationError,
  CursorError,
  IdempotencyConflictError,
  ReinsError,
  RequestError,
  RuntimeStateError,
  SessionBusyError,
  StorageError,
  TransientToolError,
  UnknownExecutionKey,
} from './core/errors.ts';
export { createPartsLog, isOfLog, PartsLogError, type PartsLog } from './views/parts-log.ts';
export { createPartsView, type PartsView, type PartsViewOptions } from './views/parts-view.ts';
export { verdictOf, type RunResultData, type RunStatus, type StopReason, type Verdict } from './core/outcome.ts';
export {
  RunAwaitingInput,
  RunCancelled,
  RunError,
  RunFailed,
  RunLimitReached,
  RunRefused,
  RunResult,
  RunTruncated,
} from './core/run-result.ts';
export type { PendingTool, RunEvent, RunEventType, Todo, UserMessage } from './core/run-event.ts';
export type { Limits } from './core/run-config.ts';
export { createRuntime, type AgentDefinition, type RuntimeDriver, type RuntimeOptions } from './runtime.ts';
export type { Answer } from './core/questions.ts';
export type { CloseOptions, Decision, PendingFilter, Runtime } from './runtimes/runtime.ts';
export type { Queue, QueueEntry } from './tasks/queue-task.ts';
export type { Remember } from './tasks/decide-approval.ts';
export type { DurableRunOptions } from './runtimes/durable-admission.ts';
export type { EventsOptions } from './runtimes/durable-events.ts';
export type { RunHandle } from './runtimes/durable-runs.ts';
export type { Clock } from './core/clock.ts';
export type { Logger } from './core/logger.ts';
export type { Usage } from './core/usage.ts';
export { defineTool, type InputSchema } from './engine/define-tool.ts';
export type { Hooks, HookName, HookPayload } from './engine/hooks.ts';
export type { McpServer } from './engine/mcp/mcp-server.ts';
export type { Middleware } from './engine/middleware.ts';
export type { Model } from './engine/model.ts';
export type { Tool, ToolContext, ToolOutput } from './engine/tool.ts';
export type { ApprovalRecord, RuleRecord, RunRecord, Store } from './stores/store.ts';
export type { AgentConfig } from './runtimes/agent-config.ts';
export type { Agent, ResumeOptions, RunOptions } from './runtimes/direct-agent.ts';
export type { InputMessage, InputPart, RunInput } from './runtimes/run-input.ts';
export type { RunStream } from './runtimes/run-stream.ts';
export type { TextOptions, TextReset, TextStream } from './runtimes/text-stream.ts';
