// Our tool for questions in the words of the specification's.

import { isRecord, type PartJsonObject } from '../../protocol/parts/part-json.ts';
import type { Answer, Question } from '../../core/questions.ts';

export const ownQuestionsTool = 'ask_user_questions';
export const hostQuestionsTool = 'askUserQuestions';

/** Options have no ids here: their label is one. */
export function toHostQuestions(questions: readonly Question[]): PartJsonObject {
  return {
    allowPartialAnswers: true,
    questions: questions.map(({ options = [], ...rest }) => ({
      ...rest,
      ...(options.length === 0 ? {} : { options: options.map((label) => ({ id: label, label })) }),
    })),
  };
}

/** What is none of the actions of the specification counts as declined. */
export function answersIn(output: unknown): readonly Answer[] | 'declined' {
  if (!isRecord(output) || !isRecord(output['answers'])) return 'declined';
  return Object.entries(output['answers']).flatMap(([id, answer]) => {
    if (!isRecord(answer)) return [];
    const { optionIds, freeform } = answer;
    const selected = Array.isArray(optionIds) ? optionIds.filter((each) => typeof each === 'string') : [];
    return [{ id, selected, ...(typeof freeform === 'string' && freeform !== '' ? { text: freeform } : {}) }];
  });
}
