import { isPlain, scripts } from './scripts.ts';
import type { Turn } from './conversation.ts';

const markers = /\[\[([a-z0-9]+)(?:[: ]([^\]]*))?\]\]/g;

export interface FoundScript {
  readonly name: string;
  readonly argument: string | undefined;
  /** What users said before, without markers: a text that quotes it picks no script. */
  readonly earlier: readonly string[];
  /** Of tools, since the marker. */
  readonly results: readonly string[];
}

/**
 * The script of the last marker in the last user text that has one: runtimes add reminders and repeat earlier turns, so a
 * marker is looked for within the text (H-800). Without one it is
 * `plain` where a user gave an order that needs none, else `text`.
 */
export function findScript(turns: readonly Turn[]): FoundScript {
  const marked = turns.findLastIndex(({ from, text }) => from === 'user' && lastMarker(text) !== undefined);
  const spoken = turns.findLastIndex(({ from, text }) => from === 'user' && isPlain(text));
  if (marked < spoken) return plain(turns, spoken);
  const [, name = 'text', argument] = lastMarker(turns[marked]?.text ?? '') ?? [];
  return {
    name,
    argument,
    earlier: turns
      .slice(0, Math.max(marked, 0))
      .filter(({ from }) => from === 'user')
      .map(({ text }) => text.replaceAll(markers, '').trim()),
    results: turns
      .slice(Math.max(marked, turns.findLastIndex(isToldToRepeat)) + 1)
      .filter(({ from }) => from === 'tool')
      .map(({ text }) => text),
  };
}

function plain(turns: readonly Turn[], at: number): FoundScript {
  const later = turns.slice(at + 1).filter(({ from }) => from === 'tool');
  return { name: 'plain', argument: turns[at]?.text, earlier: [], results: later.map(({ text }) => text) };
}

/** The one order that Reins gives in the user's place and that a script obeys: it begins again (H-042). */
const isToldToRepeat = ({ from, text }: Turn) => from === 'user' && text.includes('Make the very same call again');

const lastMarker = (text: string): RegExpExecArray | undefined =>
  [...text.matchAll(markers)].findLast(([, name = '']) => Object.hasOwn(scripts, name));
