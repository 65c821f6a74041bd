import { readContext } from './context-view.ts';
import { outputTokensLeft } from '../core/budgets.ts';
import type { OpenedModel } from './model.ts';
import type { RunState } from '../core/run-state.ts';
import type { Tool } from './tool.ts';
import type { TurnContext } from './turn-context.ts';

const roomForEnvelope = 1024;
export const mostByDefault = 32_000;

/**
 * Output tokens that a reply may have: the configured number or the model's limit (at most 32,000), doubled for each reply
 * that was cut (E-400), fitted into the window and into what is left of the run's own budget.
 */
export function replyBudget(
  state: RunState,
  opened: OpenedModel,
  o: {
    readonly toolTokens: number;
    readonly context: TurnContext;
    readonly own?: number | undefined;
    readonly learned?: number | null;
  },
): number | null {
  const most = minOf(opened.maxOutputTokens, o.learned ?? null);
  const configured = o.own ?? state.config?.maxTokens ?? null;
  const first = configured ?? (most === null ? null : mostByDefault);
  const raised = first === null ? null : first * 2 ** state.recoveries.truncations;
  const window = opened.contextTokens ?? null;
  const used = () => readContext(state, o.context.options.history).tokens + o.toolTokens + roomForEnvelope;
  const room = window === null ? null : Math.max(1024, window - used());
  const left = outputTokensLeft(state);
  return minOf(minOf(raised, most), minOf(room !== null && raised === null ? null : room, left));
}

export function minOf(a: number | null, b: number | null): number | null {
  if (a === null || b === null) return a ?? b;
  return Math.min(a, b);
}

const knownTokens = new WeakMap<readonly Tool[], number>();

/** Tokens of what a request says of its tools, roughly; reckoned once for a list, which stays the same from step to step. */
export function tokensOf(tools: readonly Tool[]): number {
  const known = knownTokens.get(tools);
  if (known !== undefined) return known;
  let units = 0;
  for (const { name, description, inputSchema } of tools)
    units += name.length + description.length + JSON.stringify(inputSchema).length;
  const tokens = Math.ceil(units / 4);
  knownTokens.set(tools, tokens);
  return tokens;
}
