import { isJsonObject, type JsonValue } from './json.ts';
import { toWellFormed } from './text.ts';

/** A question to a person (E-611). Without options it is answered in free text. */
export interface Question {
  readonly id: string;
  readonly question: string;
  readonly options?: readonly string[];
  /** Absent: one option at most. */
  readonly allowMultiple?: boolean;
  /** Absent: free text only where there are no options. */
  readonly allowFreeForm?: boolean;
}

/** An answer with neither an option nor text leaves its question open. */
export interface Answer {
  readonly id: string;
  readonly selected?: readonly string[];
  readonly text?: string;
}

export const questionLimits = { questions: 10, textUnits: 1000, options: 20 };

export type ParsedQuestions =
  | { readonly ok: true; readonly questions: readonly Question[] }
  | { readonly ok: false; readonly why: string };

/** The questions in the input of an `ask_user_questions` call. */
export function parseQuestions(input: JsonValue): ParsedQuestions {
  const given = isJsonObject(input) ? input['questions'] : undefined;
  if (!Array.isArray(given) || given.length === 0 || given.length > questionLimits.questions)
    return { ok: false, why: `'questions' must be a list of 1 to ${questionLimits.questions} questions.` };
  const questions: Question[] = [];
  for (const [index, entry] of given.entries()) {
    const question = readQuestion(entry);
    if (typeof question === 'string') return { ok: false, why: `Question ${index + 1}: ${question}` };
    if (questions.some(({ id }) => id === question.id))
      return { ok: false, why: `Question ${index + 1}: another question has the same id.` };
    questions.push(question);
  }
  return { ok: true, questions };
}

function readQuestion(entry: JsonValue): Question | string {
  const { id, question, options, allowMultiple, allowFreeForm } = isJsonObject(entry) ? entry : {};
  if (!isShortText(id)) return `'id' must be a text of 1 to ${questionLimits.textUnits} characters.`;
  if (!isShortText(question)) return `'question' must be a text of 1 to ${questionLimits.textUnits} characters.`;
  const offered = readOptions(options);
  if (offered === undefined)
    return `'options' must be at most ${questionLimits.options} different texts of 1 to ${questionLimits.textUnits} characters.`;
  return {
    id: toWellFormed(id),
    question: toWellFormed(question),
    ...(offered.length === 0 ? {} : { options: offered }),
    ...(allowMultiple === true ? { allowMultiple } : {}),
    ...(allowFreeForm === true ? { allowFreeForm } : {}),
  };
}

/** None given is no options; undefined: not options at all. */
function readOptions(given: JsonValue = []): readonly string[] | undefined {
  if (!Array.isArray(given) || given.length > questionLimits.options || !given.every(isShortText)) return undefined;
  const options = given.map(toWellFormed);
  return new Set(options).size === options.length ? options : undefined;
}

function isShortText(value: JsonValue | undefined): value is string {
  return typeof value === 'string' && value.trim() !== '' && value.length <= questionLimits.textUnits;
}

export type CheckedAnswers =
  | { readonly ok: true }
  /** `id`: the answer at fault. */
  | { readonly ok: false; readonly id: string; readonly why: string };

/** Whether these are answers to these questions. Some may be left open. */
export function checkAnswers(questions: readonly Question[], answers: readonly Answer[]): CheckedAnswers {
  const answered = new Set<string>();
  for (const answer of answers) {
    const question = questions.find(({ id }) => id === answer.id);
    const why =
      question === undefined
        ? 'There is no question with this id.'
        : answered.has(answer.id)
          ? 'This question is answered twice.'
          : faultOf(question, answer);
    if (why !== null) return { ok: false, id: answer.id, why };
    answered.add(answer.id);
  }
  return { ok: true };
}

function faultOf(question: Question, { selected = [], text }: Answer): string | null {
  const { options = [], allowMultiple = false, allowFreeForm = false } = question;
  if (!selected.every((option) => options.includes(option))) return 'Only options of the question can be selected.';
  if (new Set(selected).size < selected.length) return 'An option is selected twice.';
  if (selected.length > 1 && !allowMultiple) return 'Only one option can be selected.';
  if (text !== undefined && !allowFreeForm && options.length > 0) return 'This question takes no free text.';
  return null;
}

/** What the model reads: every question with its answer. */
export function answersText(questions: readonly Question[], answers: readonly Answer[] | 'declined'): string {
  if (answers === 'declined') return 'The user declined to answer.';
  return questions
    .map((question) =>
      answerText(
        question,
        answers.find(({ id }) => id === question.id),
      ),
    )
    .join('\n\n');
}

function answerText({ id, question }: Question, answer: Answer | undefined): string {
  const { selected = [], text } = answer ?? {};
  const lines = [
    ...selected.map((option) => `- ${option}`),
    ...(text === undefined ? [] : [`Answer: ${toWellFormed(text)}`]),
  ];
  return [`[${id}] ${question}`, ...(lines.length === 0 ? ['Not answered.'] : lines)].join('\n');
}
