// The `execute_tool` spans: one a call that was dispatched, however often its handler was called.

import { SpanKind } from '@opentelemetry/api';
import type { RunEventOf, ToolOutcome } from '../../core/run-event.ts';
import { endSpan, markFault, startSpan, type TracedLeg } from './trace-leg.ts';

/** A denied, answered or cancelled call has not failed (T3). */
const faults: ReadonlySet<ToolOutcome> = new Set<ToolOutcome>(['error', 'timeout', 'invalid', 'unknown']);

export function dispatchTool(leg: TracedLeg, { at, step, data }: RunEventOf<'tool-dispatched'>): void {
  const { id, executionKey, toolAttempt } = data;
  const running = leg.tools.get(executionKey);
  if (running !== undefined) {
    running.addEvent('reins.tool_retry', { 'reins.tool.attempt': toolAttempt }, new Date(at));
    return;
  }
  // Unknown where the call was announced to a process that is gone; its completion names it.
  const call = leg.calls.get(executionKey);
  const span = startSpan(leg, call === undefined ? 'execute_tool' : titleOf(call.name), {
    kind: SpanKind.INTERNAL,
    atMs: at,
    attributes: {
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': call?.name,
      'gen_ai.tool.type': 'function',
      'gen_ai.tool.call.id': id,
      'reins.execution_key': executionKey,
      'reins.step': step,
      'reins.tool.attempt': toolAttempt,
    },
  });
  leg.tools.set(executionKey, span);
}

export function completeTool(leg: TracedLeg, { at, data }: RunEventOf<'tool-call-complete'>): void {
  const { executionKey, name, outcome } = data;
  leg.calls.delete(executionKey);
  const span = leg.tools.get(executionKey);
  if (span === undefined) return;
  span.updateName(titleOf(name)).setAttributes({ 'gen_ai.tool.name': name, 'reins.tool.outcome': outcome });
  if (faults.has(outcome)) markFault(span, { type: outcome });
  leg.tools.delete(executionKey);
  endSpan(leg, span, { atMs: at, fault: null });
}

const titleOf = (name: string): string => `execute_tool ${name}`;
