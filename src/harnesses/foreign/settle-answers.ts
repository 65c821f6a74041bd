import type { GateRequest } from './turn-book.ts';
import type { GateWord, NativeAnswer } from './runtime.ts';
import type { PendingEntry } from '../../core/run-state.ts';

export interface Settled {
  readonly word: GateWord;
  /** Of a call that does not run by itself. */
  readonly outcome: 'denied' | 'answered' | 'cancelled';
  /** What the model reads, and the log holds. */
  readonly content: string;
}

/** What a word on a pending call means for the runtime and for the log. */
export function settleAnswers(gate: GateRequest, { decided }: PendingEntry): Settled {
  const { note } = decided ?? {};
  const denied = (content: string): Settled => ({
    word: gate.is === 'question' ? { say: 'answers', answers: null } : { say: 'deny', note: content },
    outcome: 'denied',
    content,
  });
  switch (decided?.decision) {
    case 'approve':
      return { word: { say: 'allow', ...(note === undefined ? {} : { note }) }, outcome: 'denied', content: '' };
    case 'answer': {
      const content = decided.output?.content ?? '';
      return { word: { say: 'answers', answers: answersIn(gate, content) }, outcome: 'answered', content };
    }
    case 'decline':
      return { word: { say: 'answers', answers: null }, outcome: 'answered', content: 'The user did not answer.' };
    case 'expired':
      return denied('Not run. Nobody decided on this call in time.');
    case 'cancelled':
      return { word: { say: 'cancelled' }, outcome: 'cancelled', content: 'Not run: cancelled.' };
    case 'deny':
    case 'result':
    case 'retry':
    case 'abort':
    case undefined:
      return denied(`Not run. A person refused this call.${note === undefined ? '' : ` ${note}`}`);
  }
}

/** The log keeps answers as the text that a model reads (`answersText`): per question a line with its id, then what was chosen. */
function answersIn(gate: GateRequest, content: string): readonly NativeAnswer[] {
  if (gate.is !== 'question') return [];
  return gate.questions.map(({ id, question }) => {
    const head = `[${id}] ${question}\n`;
    const at = content.indexOf(head);
    if (at === -1) return { id, texts: [] };
    const [lines = ''] = content.slice(at + head.length).split(/\n\n(?=\[)/);
    return {
      id,
      texts: lines.split('\n').flatMap((line) => /^(?:- |Answer: )(.*)$/.exec(line)?.[1] ?? []),
    };
  });
}
