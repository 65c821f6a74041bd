import type { EnginePurpose, RefusalReason } from './decide.ts';

/** What the engine says in the user's place (E-409). */
export const engineWords: Record<EnginePurpose, string> = {
  continue: 'Your reply was cut off at its length limit. Go on exactly where it stopped, without repeating anything.',
  nudge: 'Your last reply was empty. Answer now, or call a tool.',
  'todo-reminder': 'Your task list still has open items. Work on them, or bring the list up to date, then answer.',
  'final-answer': 'You have no tool calls left. Answer now with what you know.',
};

/** What the model reads of calls that are answered without being run. */
export const refusalWords: Record<RefusalReason, string> = {
  'max-tokens': 'Not executed: the reply was cut at its token limit before it was complete.',
  'pause-turn': 'Not executed: the reply was paused before it was complete.',
  refusal: 'Not executed: the model declined or a filter stopped the reply.',
  'tool-rounds': 'Not executed: the run has used all its tool rounds.',
  'final-answer': 'Not executed: no tool calls are left.',
};
