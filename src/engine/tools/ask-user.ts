import { questionLimits } from '../../core/questions.ts';
import { objectSchema } from './file-tool.ts';
import type { Tool } from '../tool.ts';

const { questions, textUnits, options } = questionLimits;
const text = { type: 'string', minLength: 1, maxLength: textUnits } as const;

/** Offered where people may answer. The engine parks its calls and never runs them (E-611); where it does, nobody is there. */
export const askUserQuestions: Tool = {
  name: 'ask_user_questions',
  description:
    'Asks the user and waits for the answers. Use it only for what you cannot find out or decide yourself. A question without options is answered in free text.',
  inputSchema: objectSchema(
    {
      questions: {
        type: 'array',
        minItems: 1,
        maxItems: questions,
        items: objectSchema(
          {
            id: { ...text, description: 'A short name of your choice, different for each question.' },
            question: text,
            options: { type: 'array', maxItems: options, uniqueItems: true, items: text },
            allowMultiple: { type: 'boolean', description: 'Several options can be selected.' },
            allowFreeForm: { type: 'boolean', description: 'Free text can be given beside the options.' },
          },
          ['id', 'question'],
        ),
      },
    },
    ['questions'],
  ),
  async run() {
    return { content: 'Nobody can answer questions here. Decide by yourself and say what you assumed.', isError: true };
  },
};
