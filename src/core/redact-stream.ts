// Takes secrets out of text that arrives in pieces, where a secret may be cut over any of them.
//
// T1. Held back is the longest end of the text that a secret could begin with, and nothing else: never more than the longest
//     secret without its last character.
// T2. A hit that reaches into what is held is marked at once; its characters there count as covered, so that a hit that
//     overlaps it goes on without a mark of its own.
// T3. However the text was cut, the pieces joined are the redaction of the whole, unless a flush fell inside a secret.

import { hitsOf, redactionMark, secretForms } from './redact.ts';

export interface StreamRedactor {
  /** What of the text so far can be shown, beyond what was. */
  push(piece: string): string;
  /** The rest of it; what comes after begins anew. */
  flush(): string;
}

/** Of one list of secrets, for as many streams as are needed. */
export function redactsStreams(secrets: readonly string[]): () => StreamRedactor {
  const forms = secretForms(secrets);
  if (forms.length === 0) return () => ({ push: (piece) => piece, flush: () => '' });
  const byFirst = Map.groupBy(forms, (form) => form[0]);
  const longest = Math.max(...forms.map(({ length }) => length));

  /** Where the end begins that is held back (T1). */
  function holdFrom(text: string): number {
    for (let at = Math.max(0, text.length - longest + 1); at < text.length; at++) {
      const end = text.length - at;
      const begins = byFirst.get(text[at])?.some((form) => form.length > end && text.endsWith(form.slice(0, end)));
      if (begins === true) return at;
    }
    return text.length;
  }

  return () => createStream(forms, holdFrom);
}

function createStream(forms: readonly string[], holdFrom: (text: string) => number): StreamRedactor {
  let held = '';
  /** Characters at the front of what is held that a mark stands for already (T2). */
  let covered = 0;

  function show(text: string, until: number): string {
    const hits = forms.flatMap((form) => [...hitsOf(text, form)]).toSorted((a, b) => a.start - b.start);
    let [out, end] = ['', covered];
    for (const hit of hits) {
      if (hit.start >= until) break;
      if (hit.start >= end) out += text.slice(end, hit.start) + redactionMark;
      end = Math.max(end, hit.end);
    }
    if (end < until) out += text.slice(end, until);
    held = text.slice(until);
    covered = Math.max(0, end - until);
    return out;
  }

  return {
    push(piece) {
      const text = held + piece;
      return show(text, holdFrom(text));
    },
    flush() {
      const rest = show(held, held.length);
      covered = 0;
      return rest;
    },
  };
}
