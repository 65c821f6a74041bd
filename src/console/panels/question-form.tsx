import { useState } from 'react';
import { isEnter } from './is-enter.ts';
import { useStore } from './use-console.ts';
import type { ApprovalCard } from '../state/state.ts';
import type { Answers, Approval } from '../state/wire.ts';

type Question = NonNullable<Approval['questions']>[number];

interface Said {
  readonly selected: readonly string[];
  readonly text: string;
}

const nothing: Said = { selected: [], text: '' };

export function QuestionForm({ card: { approval, answer } }: { readonly card: ApprovalCard }) {
  const store = useStore();
  const [said, setSaid] = useState<Readonly<Record<string, Said>>>({});
  const questions = approval.questions ?? [];
  const complete = questions.every(({ id }) => isSaid(said[id] ?? nothing));
  const sending = answer.kind === 'sending';
  const give = (body: Answers) =>
    store.dispatch({ type: 'verdict_given', approvalId: approval.id, verdict: { verb: 'answer', body } });
  const answerAll = () => give({ answers: questions.map(({ id }) => ({ id, ...answerOf(said[id] ?? nothing) })) });
  return (
    <div className="questions">
      {questions.map((question) => (
        <QuestionField
          key={question.id}
          question={question}
          name={`${approval.id} ${question.id}`}
          said={said[question.id] ?? nothing}
          onSaid={(next) => setSaid((before) => ({ ...before, [question.id]: next }))}
          onEnter={() => complete && !sending && answerAll()}
        />
      ))}
      <div className="verdicts">
        <button type="button" className="primary" disabled={sending || !complete} onClick={answerAll}>
          Answer
        </button>
        <button type="button" disabled={sending} onClick={() => give({ declined: true })}>
          Decline to answer
        </button>
      </div>
    </div>
  );
}

function isSaid({ selected, text }: Said): boolean {
  return selected.length > 0 || text.trim() !== '';
}

function answerOf({ selected, text }: Said) {
  return { ...(selected.length === 0 ? {} : { selected }), ...(text.trim() === '' ? {} : { text: text.trim() }) };
}

interface QuestionFieldProps {
  readonly question: Question;
  readonly name: string;
  readonly said: Said;
  readonly onSaid: (said: Said) => void;
  readonly onEnter: () => void;
}

function QuestionField({ question, name, said, onSaid, onEnter }: QuestionFieldProps) {
  const many = question.allow_multiple;
  const choose = (option: string, on: boolean) => {
    const others = many ? said.selected.filter((each) => each !== option) : [];
    onSaid({ ...said, selected: on ? [...others, option] : others });
  };
  return (
    <fieldset className="question">
      <legend>{question.question}</legend>
      {question.options.map((option) => (
        <label key={option} className="choice">
          <input
            type={many ? 'checkbox' : 'radio'}
            name={name}
            checked={said.selected.includes(option)}
            onChange={(event) => choose(option, event.currentTarget.checked)}
          />
          <span>{option}</span>
        </label>
      ))}
      {question.allow_free_form && (
        <input
          aria-label={question.options.length === 0 ? question.question : 'Other answer'}
          placeholder={question.options.length === 0 ? 'Your answer' : 'Something else'}
          value={said.text}
          onChange={(event) => onSaid({ ...said, text: event.currentTarget.value })}
          onKeyDown={(event) => isEnter(event) && onEnter()}
        />
      )}
    </fieldset>
  );
}
