import { runIds, sessionIds } from '../core/ids.ts';
import type { ToolContext } from '../engine/tool.ts';

/** What a handler is called with, for tests of one tool. */
export function toolContext(given: Partial<ToolContext> = {}): ToolContext {
  return {
    runId: runIds.make('tool'),
    sessionId: sessionIds.make('tool'),
    executionKey: 'run:1:call',
    toolAttempt: 1,
    signal: new AbortController().signal,
    workspace: '/',
    show() {},
    ...given,
  };
}
