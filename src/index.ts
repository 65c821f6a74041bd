export { createAgent, type Agent, type AgentOptions, type RunOptions, type RunStream } from './agent.ts';
export { createServer, type Server } from './compose.ts';
export { loadConfig, type Config, type ConfigSources } from './config.ts';
export { ConfigurationError, ReinsError, RequestError } from './core/errors.ts';
export { verdictOf, type RunResultData, type RunStatus, type StopReason, type Verdict } from './core/outcome.ts';
export type { RunEvent, RunEventType, UserMessage } from './core/run-event.ts';
export type { Usage } from './core/usage.ts';
