import { isJsonObject, type JsonObject, type JsonValue } from '../../core/json.ts';
import { parseQuestions, type Question } from '../../core/questions.ts';
import type { GateWord } from '../foreign/runtime.ts';

/** The tool of the specification that every host has to answer. */
export const questionsTool = 'askUserQuestions';

interface Option {
  readonly id: string;
  readonly label: string;
}

/** Null: nothing that a person could be asked. */
export function questionsOf(input: JsonValue): readonly Question[] | null {
  const asked = entriesOf(input).map(({ options, allowFreeForm, ...rest }) => ({
    ...rest,
    options: optionsIn(options).map(({ label }) => label),
    // Whether the text is a secret is no matter here.
    ...(allowFreeForm === undefined ? {} : { allowFreeForm: allowFreeForm !== false }),
  }));
  const parsed = parseQuestions({ questions: asked });
  return parsed.ok ? parsed.questions : null;
}

/** The output of the tool: options by their ids, and what is none of them as free text. */
export function outputOf(input: JsonValue, word: GateWord): JsonObject {
  if (word.say === 'cancelled') return { action: 'cancelled' };
  if (word.say !== 'answers' || word.answers === null) return { action: 'declined' };
  const entries = entriesOf(input);
  const answers = word.answers.map(({ id, texts }) => {
    const options = optionsIn(entries.find((entry) => entry['id'] === id)?.['options']);
    const optionIds = texts.flatMap((text) => options.find(({ label }) => label === text)?.id ?? []);
    const freeform = texts.filter((text) => !options.some(({ label }) => label === text)).join('\n');
    return [id, { optionIds, ...(freeform === '' ? {} : { freeform }) }] as const;
  });
  const isWhole = word.answers.every(({ texts }) => texts.length > 0);
  return { action: isWhole ? 'answered' : 'partially-answered', answers: Object.fromEntries(answers) };
}

function entriesOf(input: JsonValue): readonly JsonObject[] {
  const questions = isJsonObject(input) ? input['questions'] : undefined;
  return Array.isArray(questions) ? questions.filter((entry) => isJsonObject(entry)) : [];
}

function optionsIn(options: JsonValue | undefined): readonly Option[] {
  if (!Array.isArray(options)) return [];
  return options.flatMap((option: JsonValue) => {
    const { id, label } = isJsonObject(option) ? option : {};
    return typeof id === 'string' && typeof label === 'string' ? [{ id, label }] : [];
  });
}
