import type { JsonObject } from '../core/json.ts';
import type { Logger } from '../core/logger.ts';
import { head, tail } from '../core/text.ts';

/** What goes wrong behind a run, for the person at the terminal: the operator's half of a failure, one line each. */
export function createFailureNotes(o: {
  readonly note: (line: string) => void;
  /** Never shown, whoever repeats them: a provider's error may quote the key it was sent. */
  readonly secrets: readonly string[];
  /** Once it aborts, what is stopped fails, and that is nobody's news (B097). */
  readonly stop: AbortSignal;
}): Logger {
  const plain = (text: string) =>
    oneLine(o.secrets.reduce((rest, secret) => rest.replaceAll(secret, '(secret)'), text));
  const tell = (message: string, facts: JsonObject = {}, cause?: unknown) => {
    if (o.stop.aborted) return;
    const why = wordsOf(cause) ?? textIn(facts, 'cause') ?? textIn(facts, 'message');
    const said = saidIn(facts);
    // That it failed is told by the result: without a reason the line would say nothing.
    if (why === null && said === '') return;
    const told = [withFacts(message, facts), why, said === null ? null : tail(plain(said), 300)];
    o.note(head(plain(told.filter((word) => word !== null && word !== '').join(': ')), 900));
  };
  return { info() {}, warn: tell, error: tell };
}

/** What a program said beside its protocol, the end of which tells most; empty: nothing. Null: it was not listened to. */
function saidIn(facts: JsonObject): string | null {
  const told = ['detail', 'diagnostics', 'said', 'why'].map((name) => facts[name]);
  return told.find((each) => typeof each === 'string') ?? null;
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
