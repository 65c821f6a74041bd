import type { JsonObject } from '../core/json.ts';
import type { Logger } from '../core/logger.ts';
import { head } from '../core/text.ts';

/** What goes wrong behind a run, for the person at the terminal: the operator's half of a failure, one line each. */
export function createFailureNotes(o: {
  readonly note: (line: string) => void;
  /** Never shown, whoever repeats them: a provider's error may quote the key it was sent. */
  readonly secrets: readonly string[];
}): Logger {
  const tell = (message: string, facts: JsonObject = {}, cause?: unknown) => {
    const line = [withFacts(message, facts), wordsOf(cause) ?? textIn(facts, 'cause') ?? textIn(facts, 'message')];
    const plain = line.filter((word) => word !== null).join(': ');
    o.note(head(oneLine(o.secrets.reduce((text, secret) => text.replaceAll(secret, '(secret)'), plain)), 600));
  };
  return { info() {}, warn: tell, error: tell };
}

function withFacts(message: string, facts: JsonObject): string {
  const { status } = facts;
  const [provider, model] = [textIn(facts, 'provider'), textIn(facts, 'model')];
  // A model outside the catalogue already carries its provider's name.
  const who = model?.startsWith(`${provider}/`) === true ? [model] : [provider, model];
  const known = [...who, typeof status === 'number' ? `status ${status}` : null];
  const list = known.filter((word) => word !== null).join(', ');
  return `${message.replace(/\.$/, '')}${list === '' ? '' : ` (${list})`}`;
}

/** The message of an error, or of what a provider sent as one, and the codes of its causes. No stack. */
function wordsOf(cause: unknown): string | null {
  if (typeof cause !== 'object' || cause === null) return typeof cause === 'string' ? cause : null;
  const message = 'message' in cause && typeof cause.message === 'string' ? cause.message : '';
  const words = [message, ...codesOf(cause).filter((code) => !message.includes(code))].filter((word) => word !== '');
  return words.length === 0 ? null : words.join(', ');
}

function codesOf(cause: object): readonly string[] {
  const codes: string[] = [];
  let current: unknown = cause;
  for (let depth = 0; depth < 8 && typeof current === 'object' && current !== null; depth++) {
    if ('code' in current && typeof current.code === 'string') codes.push(current.code);
    current = 'cause' in current ? current.cause : null;
  }
  return [...new Set(codes)];
}

function textIn(facts: JsonObject, name: string): string | null {
  const value = facts[name];
  return typeof value === 'string' && value !== '' ? value : null;
}

const oneLine = (text: string): string => text.replace(/\s+/g, ' ').trim();
