import { withEffects, type Reduced } from './reduced.ts';
import type { ConsoleState, Notice } from './state.ts';

const maxNotices = 20;

/** Something that a person has to know beside the transcript; one of the same id replaces the older one. */
export function withNotice(state: ConsoleState, notice: Notice): Reduced {
  const notices = [...state.notices.filter(({ id }) => id !== notice.id), notice].slice(-maxNotices);
  return withEffects({ ...state, notices }, { type: 'announce', text: notice.text, urgency: 'alert' });
}
