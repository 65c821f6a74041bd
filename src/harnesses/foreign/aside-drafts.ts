import { hashText, toWellFormed } from '../../core/text.ts';
import type { EventDraft } from '../../core/run-event.ts';
import type { NativeFact } from './native-fact.ts';
import type { RunState } from '../../core/run-state.ts';

export type AsideFact = Extract<NativeFact, { is: 'todos' | 'compacted' | 'file' | 'engine-said' }>;

/** What is told beside replies and calls, whatever they are at. */
export function asideDraft({ runId, step }: RunState, fact: AsideFact): EventDraft {
  const position = { step, attempt: 0 };
  switch (fact.is) {
    case 'todos': {
      const { todos } = fact;
      const data = {
        todos,
        completed: todos.filter(({ status }) => status === 'completed').length,
        total: todos.length,
        inProgress: todos.find(({ status }) => status === 'in_progress')?.content ?? null,
      };
      return { type: 'todos-updated', data, ...position };
    }
    case 'compacted': {
      const { tokensBefore, tokensAfter } = fact;
      const how = { trigger: 'auto', method: 'summary', throughSeq: 0, usage: null } as const;
      return { type: 'compacted', data: { ...how, tokensBefore, tokensAfter }, ...position };
    }
    case 'file':
      return { type: 'file-changed', data: { kind: fact.kind, path: fact.path }, ...position };
    case 'engine-said': {
      const content = [{ type: 'text', text: toWellFormed(fact.text) }] as const;
      const messageId = `${runId}:${step}:${hashText(fact.text)}`;
      const data = { messageId, content, mode: 'engine', purpose: fact.purpose } as const;
      return { type: 'user-message', data, ...position };
    }
  }
}
