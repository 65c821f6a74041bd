// What the effects of one turn share: the model, the tools as they are now, and the state they fold into.

import { askUserQuestions } from './tools/ask-user.ts';
import { createReadToolResult } from './tools/read-tool-result.ts';
import { createTodoTools } from './tools/todos.ts';
import { createToolbox, type Toolbox } from './prepare-call.ts';
import { todosAfterBatch } from './todo-list.ts';
import type { EngineParts } from './engine-parts.ts';
import type { OpenedModel } from './model.ts';
import type { RunLoopOptions } from './run-loop.ts';
import type { RunState } from '../core/run-state.ts';
import type { Tool, ToolListing } from './tool.ts';

/** What a turn shares with its driver. */
export interface SharedTurn {
  /** The fold of everything yielded so far. */
  readonly current: () => RunState;
  /** What could not be stopped, in words; added to. */
  readonly unstopped: string[];
  /** The model of the open attempt is about to be called. */
  readonly noteCall: () => void;
}

export interface TurnContext {
  readonly parts: EngineParts;
  readonly options: RunLoopOptions;
  readonly signal: AbortSignal;
  /** The requested model. */
  readonly opened: OpenedModel;
  /** Tools that live as long as the turn: fixed ones, and those that read its state. */
  readonly tools: readonly Tool[];
  /** The fold of everything yielded so far. */
  readonly current: () => RunState;
  readonly noteUnstopped: (what: readonly string[]) => void;
  readonly noteCall: () => void;
  /** The tools of the open step: those of the turn, and what the sources have now. */
  toolbox(): Promise<TurnToolbox>;
}

export interface TurnToolbox extends Toolbox {
  readonly degraded: readonly string[];
  /** For the system prompt. */
  readonly guidance: string;
}

export async function prepareTurn(
  parts: EngineParts,
  options: RunLoopOptions,
  { current, unstopped, noteCall }: SharedTurn,
): Promise<TurnContext> {
  const opened = await parts.openModel(options.state.requested);
  const tools = turnTools(parts, options, current);
  const disabled = new Set(options.state.config?.disabledTools);
  const changes = (parts.middleware ?? []).flatMap(({ beforeTool }) => beforeTool ?? []);
  const fixed: TurnToolbox = { ...createToolbox(tools, changes), degraded: [], guidance: '' };
  let box: { readonly listings: readonly ToolListing[]; readonly toolbox: TurnToolbox } | null = null;
  return {
    parts,
    options,
    signal: options.signal,
    opened,
    tools,
    current,
    noteUnstopped: (what) => void unstopped.push(...what),
    noteCall,
    async toolbox() {
      if (parts.sources === undefined || parts.sources.length === 0) return fixed;
      const listings = await Promise.all(parts.sources.map((source) => source.list()));
      if (box !== null && listings.every((listing, at) => listing.tools === box?.listings[at]?.tools))
        return box.toolbox;
      const known = new Set([...disabled, ...tools.map(({ name }) => name)]);
      // Of two sources with a tool of one name the later is meant: a harness's own before those that all have.
      const offered = new Map(listings.flatMap(({ tools: each }) => each.map((tool) => [tool.name, tool])));
      const more = [...offered.values()].filter(({ name }) => !known.has(name));
      const degraded = listings.flatMap((listing) => listing.degraded);
      const guidance = listings.flatMap((listing) => listing.guidance ?? []).join('\n\n');
      box = { listings, toolbox: { ...createToolbox([...tools, ...more], changes), degraded, guidance } };
      return box.toolbox;
    },
  };
}

function turnTools(parts: EngineParts, options: RunLoopOptions, current: () => RunState): readonly Tool[] {
  const { config } = options.state;
  const disabled = new Set(config?.disabledTools);
  const own: Tool[] = [...parts.tools];
  if (config?.planning === true) own.push(...createTodoTools(() => todosAfterBatch(current()) ?? options.todos ?? []));
  if (config?.permissions?.questions === true) own.push(askUserQuestions);
  if (own.length > 0 || (parts.sources ?? []).length > 0)
    own.push(
      createReadToolResult((callId) => readSpilled(parts, { callId, history: options.history, state: current() })),
    );
  return own.filter(({ name }) => !disabled.has(name));
}

/** A result that the model saw cut, whole; null: no such call in this conversation. */
async function readSpilled(
  { content }: EngineParts,
  o: { readonly callId: string; readonly state: RunState; readonly history: RunLoopOptions['history'] },
): Promise<string | null> {
  for (const message of [...o.history, ...o.state.transcript.messages].toReversed()) {
    if (message.role !== 'tool') continue;
    const answer = message.answers.find(({ toolCallId }) => toolCallId === o.callId);
    if (answer === undefined) continue;
    if (answer.spill === undefined) return answer.content;
    const bytes = await content.content(answer.spill.ref);
    return bytes === null ? null : new TextDecoder().decode(bytes);
  }
  return null;
}
