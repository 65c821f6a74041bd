// The effects behind the commands of the core. Each yields live facts while it works and, at the end, the committed ones
// that the core makes of its outcome.

import { answerCall, closeRun, finishStep, parkRun } from '../core/closing.ts';
import { openStep, performModelCall } from './model-step.ts';
import { refusalWords } from './engine-words.ts';
import { runTools } from './run-tools.ts';
import { todosChanged } from './todo-list.ts';
import type { Command } from './decide.ts';
import type { EventDraft } from '../core/run-event.ts';
import type { RunState } from '../core/run-state.ts';
import type { TurnContext } from './turn-context.ts';

type Effects = AsyncGenerator<readonly EventDraft[]>;

export function perform(command: Command, context: TurnContext): Effects | readonly (readonly EventDraft[])[] {
  const state = context.current();
  const nowMs = context.parts.clock.now();
  switch (command.do) {
    case 'open-step':
      return openStep(command, context);
    case 'call-model':
      return performModelCall(command, context);
    case 'refuse-calls':
      return [refuseCalls(command, state)];
    case 'run-tools':
      return performTools(context);
    case 'collect-tools':
      if (state.open === null) return [];
      return [[...todosChanged(state, context.options.todos ?? null), finishStep(state, state.open, nowMs)]];
    case 'park':
      return [parkRun(state, command.park, nowMs)];
    case 'finish':
      return [closeRun(state, command.ending, nowMs)];
    case 'none':
      return [];
  }
}

async function* performTools(context: TurnContext): Effects {
  const { parts, options, signal, current } = context;
  const { clock, logger, policies, content, redact = (text: string) => text } = parts;
  yield* runTools({
    toolbox: await context.toolbox(),
    workspace: options.workspace,
    people: options.people ?? { how: 'deny' },
    rules: async () => (await options.rules?.()) ?? [],
    policy: policies.tools,
    progress: policies.progress,
    afterTool: (parts.middleware ?? []).flatMap(({ afterTool }) => afterTool ?? []),
    clock,
    logger,
    signal,
    ...(options.pause === undefined ? {} : { pause: options.pause }),
    content,
    current,
    redact,
    onRepetition: (note) => options.onRepetition?.(note),
    onUnstopped: context.noteUnstopped,
  });
}

/** Calls that must not run are answered, so that the session stays usable (E-425, E-565). */
function refuseCalls(
  { why, budget }: Extract<Command, { do: 'refuse-calls' }>,
  state: RunState,
): readonly EventDraft[] {
  const entries = (state.open?.calls ?? []).filter(({ progress }) => progress.at !== 'answered');
  const answers = entries.flatMap((entry) =>
    answerCall(state, entry, { outcome: 'not-run', content: refusalWords[why] }),
  );
  const position = { step: state.step, attempt: 0 };
  return budget === null ? answers : [{ type: 'budget-reached', data: budget, ...position }, ...answers];
}
