import { listOf, objectOf, textOf, wordOf } from '../foreign/fields.ts';
import { namedPaths } from '../foreign/named-paths.ts';
import type { JsonObject } from '../../core/json.ts';
import type { NativeCall, NativeFact, UseKind } from '../foreign/native-fact.ts';
import type { NativeAnswer } from '../foreign/runtime.ts';
import type { Question } from '../../core/questions.ts';

/** `can_use_tool`: may this call run? Of its tool for questions: a question (H-046). */
export function gateFact(
  request: string,
  asked: JsonObject,
): Extract<NativeFact, { is: 'gate' | 'question' | 'unknown' }> {
  const [name, id, bySubAgent] = [wordOf(asked['tool_name']), wordOf(asked['tool_use_id']), asked['agent_id']];
  if (asked['subtype'] !== 'can_use_tool' || name === null || id === null)
    return { is: 'unknown', kind: `control_request/${wordOf(asked['subtype'])}` };
  const call = { id, name, input: asked['input'] ?? {} };
  const known = { ...kindOf(name), ...namedPaths(call.input, ['file_path', 'notebook_path', 'path']) };
  if (typeof bySubAgent === 'string') return { is: 'gate', request, call, ...known, bySubAgent: true };
  const questions = name === 'AskUserQuestion' ? questionsOf(call) : [];
  if (questions.length > 0) return { is: 'question', request, call, questions };
  return { is: 'gate', request, call, ...known };
}

/** The input of the call with the answers of a person in it, as its tool takes them: by the question's own words. */
export function withAnswers({ input }: NativeCall, answers: readonly NativeAnswer[]): JsonObject {
  const given = objectOf(input);
  const asked = listOf(given['questions']).map((each) => textOf(objectOf(each)['question']));
  const entries = answers.map(({ id, texts }) => [asked[Number(id) - 1] ?? '', texts.join(', ')]);
  return { ...given, answers: Object.fromEntries(entries) };
}

function questionsOf({ input }: NativeCall): readonly Question[] {
  return listOf(objectOf(input)['questions']).flatMap((each, index) => {
    const { question, options, multiSelect } = objectOf(each);
    if (typeof question !== 'string') return [];
    const labels = listOf(options).flatMap((option) => wordOf(objectOf(option)['label']) ?? []);
    return {
      id: `${index + 1}`,
      question,
      ...(labels.length === 0 ? {} : { options: labels }),
      ...(multiSelect === true ? { allowMultiple: true } : {}),
      allowFreeForm: true,
    };
  });
}

const kinds: readonly (readonly [UseKind, RegExp])[] = [
  // What a sub-agent does is judged call by call.
  ['readonly', /^(Read|Glob|Grep|LS|NotebookRead|Skill|Agent|ToolSearch|ReportFindings|Task\w*|TodoWrite)$/],
  ['edit', /^(Write|Edit|MultiEdit|NotebookEdit)$/],
  ['execute', /^(Bash|BashOutput|KillShell)$/],
  ['network', /^Web(Fetch|Search)$/],
];

function kindOf(name: string): { readonly useKind?: UseKind } {
  const kind = kinds.find(([, names]) => names.test(name));
  return kind === undefined ? {} : { useKind: kind[0] };
}
