import { expect, test } from 'vitest';
import { askUserQuestions } from './ask-user.ts';
import { createToolbox } from '../prepare-call.ts';
import { parseQuestions } from '../../core/questions.ts';
import { toolContext } from '../../testing/tool-context.ts';

test('E-611: what fits the schema of ask_user_questions is what its parser takes', async () => {
  const toolbox = createToolbox([askUserQuestions]);
  const question = { id: 'q', question: 'Which?', options: ['a', 'b'], allowMultiple: true, allowFreeForm: false };
  for (const [input, fits] of [
    [{ questions: [question] }, true],
    [{ questions: [{ id: 'q', question: 'Why?' }] }, true],
    [{ questions: [] }, false],
    [{ questions: [{ ...question, options: ['a', 'a'] }] }, false],
    [{ questions: [{ ...question, question: '' }] }, false],
    [{ questions: Array.from({ length: 11 }, (_, index) => ({ ...question, id: `${index}` })) }, false],
  ] as const) {
    const { verdict } = await toolbox.prepare({
      id: '1',
      name: 'ask_user_questions',
      arguments: JSON.stringify(input),
    });
    expect(verdict).toBe(fits ? 'run' : 'refuse');
    expect(parseQuestions(JSON.parse(JSON.stringify(input))).ok).toBe(fits);
  }
});

test('E-611: where nobody can answer, the model is told so', async () => {
  expect(await askUserQuestions.run({ questions: [] }, toolContext())).toMatchObject({
    isError: true,
    content: expect.stringContaining('Nobody can answer'),
  });
});
