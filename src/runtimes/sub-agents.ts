// Sub-agents: a tool `delegate_<name>` that works through a run of its own (E-905).
//
// A1. The child's id comes from the call's key: a call that is dispatched again finds the run it began.
// A2. What the child waits for, the parent waits for: its requests stand in the parent's log with the path to them, and
//     what is said of them there is passed on when the call is run again (E-612).
// A3. A child may do no more than its parent, and chains are at most three deep.
// A4. A child that is paused is no answer: the call is run again, and goes on with it, when its parent is resumed (E-819).

import { createHash } from 'node:crypto';
import { approvalIds, runIds, type RunId } from '../core/ids.ts';
import { hashText } from '../core/text.ts';
import { isJsonObject } from '../core/json.ts';
import type { RunResult } from '../core/run-result.ts';
import type { ApprovalDecided, ParentRun, PendingTool } from '../core/run-event.ts';
import type { RunPermissions } from '../core/run-config.ts';
import type { AssembledAgent } from './assembled-agent.ts';
import type { PendingEntry, RunState } from '../core/run-state.ts';
import type { Tool, ToolContext, ToolOutput, UseKind } from '../engine/tool.ts';

export interface SubAgent {
  /** What the tool is called after: `delegate_<name>`. */
  readonly name: string;
  /** For the model: what it can be asked for. */
  readonly description: string;
  readonly agent: AssembledAgent;
}

export interface ChildRun {
  readonly child: SubAgent;
  readonly runId: RunId;
  readonly task: string;
  readonly parent: ParentRun;
  readonly permissions: RunPermissions;
  /** What was said in the parent of what the child waits for: its approval id, and the words. */
  readonly decisions: readonly { readonly executionKey: string; readonly decided: ApprovalDecided }[];
  readonly context: ToolContext;
}

/** How a runtime drives a child: starts it or finds it, passes decisions on, and gives the result of its leg. */
export type RunChild = (child: ChildRun) => Promise<RunResult>;

const deepest = 3;
/** So long after it has given up what it waits for, a child has ended and said so. */
const endsWithinSeconds = 2;

export function delegateTool(name: string): string {
  return `delegate_${name}`;
}

export function createDelegateTools(
  subagents: readonly SubAgent[],
  { current, runChild }: { readonly current: () => RunState; readonly runChild: RunChild },
): readonly Tool[] {
  if ((current().parent?.depth ?? 0) >= deepest) return [];
  return subagents.map((child) => ({
    ...useKindOf(child.agent),
    name: delegateTool(child.name),
    description: `Hands a task to the agent '${child.name}' and waits for its answer. ${child.description}`,
    inputSchema: {
      type: 'object',
      properties: { task: { type: 'string', minLength: 1, description: 'Everything the agent needs to know.' } },
      required: ['task'],
      additionalProperties: false,
    },
    replay: 'idempotent',
    concurrent: false,
    timeoutSeconds: null,
    stopsWithinSeconds: stopsWithin(child.agent),
    childRunId: childRunIdOf,
    async run(input, context) {
      const state = current();
      const runId = childRunIdOf(context.executionKey);
      const task = isJsonObject(input) && typeof input['task'] === 'string' ? input['task'] : '';
      const { executionKey } = context;
      const parent: ParentRun = { runId: state.runId, executionKey, depth: (state.parent?.depth ?? 0) + 1 };
      const [{ permissions: own }, above] = [child.agent.runConfig(''), state.config?.permissions];
      const permissions = above === undefined ? own : { ...own, above };
      const decisions = state.pending.flatMap(decisionsOf);
      const result = await runChild({ child, runId, task, parent, permissions, decisions, context });
      return toOutput(result, { child, state });
    },
  }));
}

function stopsWithin({ engine, subagents }: AssembledAgent): number {
  const below = subagents.map(({ agent }) => stopsWithin(agent));
  return Math.max(engine.policies.tools.abandonAfterSeconds, ...below) + endsWithinSeconds;
}

function childRunIdOf(executionKey: string): RunId {
  return runIds.make(createHash('sha256').update(executionKey).digest('hex').slice(0, 32));
}

function decisionsOf({ executionKey, agentPath, decided }: PendingEntry): ChildRun['decisions'] {
  return agentPath === undefined || decided === null ? [] : [{ executionKey, decided }];
}

function toOutput(result: RunResult, o: { readonly child: SubAgent; readonly state: RunState }): ToolOutput {
  if (result.needsInput) return { content: '', waitsFor: result.pending.map((pending) => inParent(pending, o)) };
  if (result.status === 'paused') return { content: '', waitsFor: [] };
  const { usage, usageIncomplete, output, unstopped } = result;
  const shared = { usage, usageIncomplete, unstopped };
  if (result.ok) return { ...shared, content: output };
  const why = result.error?.message ?? `it ended with '${result.stopReason ?? result.status}'`;
  const text = output === '' ? (result.partialOutput ?? '') : output;
  return { ...shared, isError: true, content: `The agent gave no whole answer: ${why}\n\n${text}`.trim() };
}

/** The child's request as the parent's own, under an id of its own. */
function inParent(
  pending: PendingTool,
  { child, state }: { readonly child: SubAgent; readonly state: RunState },
): PendingTool {
  const approvalId = approvalIds.make(`${state.runId.slice(5)}${hashText(pending.approvalId)}`);
  return { ...pending, approvalId, agentPath: [child.name, ...(pending.agentPath ?? [])] };
}

/** What the agent's tools do at most; nothing where that is not known. */
function useKindOf(agent: AssembledAgent): Pick<Tool, 'useKind'> {
  const used = kindsOf(agent);
  if (used.includes(undefined)) return {};
  return { useKind: kinds.findLast((kind) => used.includes(kind)) ?? 'readonly' };
}

function kindsOf({ engine, subagents }: AssembledAgent): readonly (UseKind | undefined)[] {
  const own = engine.tools.map(({ useKind }) => useKind);
  const later = engine.sources?.length ? [undefined] : [];
  return [...own, ...later, ...subagents.flatMap(({ agent }) => kindsOf(agent))];
}

const kinds = ['readonly', 'edit', 'network', 'execute'] as const;
