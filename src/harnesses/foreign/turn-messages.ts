import { lastSaid } from './turn-endings.ts';
import { userText } from '../../core/user-text.ts';
import type { LiveTurn } from './live-turn.ts';
import type { Logger } from '../../core/logger.ts';
import type { RunEvent } from '../../core/run-event.ts';
import type { RunState } from '../../core/run-state.ts';

/** Messages of people to a runtime at work: each once, whichever way it was met first (H-050). */
export class TurnMessages {
  readonly #live: Pick<LiveTurn, 'turn' | 'told'>;
  readonly #logger: Logger;

  constructor(live: Pick<LiveTurn, 'turn' | 'told'>, logger: Logger) {
    this.#live = live;
    this.#logger = logger;
  }

  hear(event: RunEvent): void {
    if (event.type !== 'user-message' || event.data.mode !== 'steer') return;
    const { told } = this.#live;
    if (told.has(event.data.messageId)) return;
    told.add(event.data.messageId);
    this.#steer(userText(event.data.content));
  }

  /** What was said while the turn waited. */
  tellUnread(state: RunState): void {
    const { told } = this.#live;
    const unread = state.unread.filter((id) => !told.has(id));
    if (unread.length === 0) return;
    for (const id of unread) told.add(id);
    this.#steer(userText(lastSaid(state, unread.length)));
  }

  #steer(text: string): void {
    const steered = this.#live.turn.steer?.(text);
    steered?.catch((cause: unknown) => this.#logger.warn('A runtime took no message.', { cause: String(cause) }));
  }
}
