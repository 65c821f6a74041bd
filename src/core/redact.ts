// Takes secrets out of text that leaves: log lines, messages of events, what clients read (E-071).
//
// X1. Hits are looked for in the text as it was, and those that overlap become one mark: a secret that begins or goes on
//     another leaves no piece of itself behind.
// X2. A secret is looked for as it is, JSON-escaped, percent-encoded, and in base64 of either alphabet, padded or not.
// X3. A value below 4 characters is no secret here: it would tear ordinary words.

import { isJsonObject, type JsonObject, type JsonValue } from './json.ts';
import { toWellFormed } from './text.ts';

export type Redact = (text: string) => string;

/** What stands in the place of a secret. */
export const redactionMark = '[redacted]';

const shortest = 4;

/** With no secret in the list the text comes back as it is, at no cost. */
export function createRedactor(secrets: readonly string[]): Redact {
  const forms = secretForms(secrets);
  if (forms.length === 0) return (text) => text;
  return (text) => {
    const found = forms.filter((form) => text.includes(form));
    return found.length === 0 ? text : markStretches(text, found);
  };
}

/** Everything that is looked for (X2, X3), each once. */
export function secretForms(secrets: readonly string[]): readonly string[] {
  return [...new Set(secrets.filter(({ length }) => length >= shortest).flatMap(formsOf))];
}

/** Whether a value is too short to be looked for (X3). */
export function isShortSecret(secret: string): boolean {
  return secret.length < shortest;
}

/** Every text inside the value redacted; keys stay. */
export function redactJson(value: JsonValue, redact: Redact): JsonValue {
  if (typeof value === 'string') return redact(value);
  if (Array.isArray(value)) return value.map((item) => redactJson(item, redact));
  return isJsonObject(value) ? redactFacts(value, redact) : value;
}

/** The same for an object, which stays one. */
export function redactFacts(facts: JsonObject, redact: Redact): JsonObject {
  return Object.fromEntries(Object.entries(facts).map(([key, item]) => [key, redactJson(item, redact)]));
}

function formsOf(given: string): readonly string[] {
  const secret = toWellFormed(given);
  const base64 = btoa(String.fromCharCode(...new TextEncoder().encode(secret)));
  const unpadded = base64.replace(/=+$/, '');
  const url = unpadded.replaceAll('+', '-').replaceAll('/', '_');
  return [secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret), base64, unpadded, url];
}

export interface Stretch {
  readonly start: number;
  readonly end: number;
}

function markStretches(text: string, forms: readonly string[]): string {
  const hits = forms.flatMap((form) => [...hitsOf(text, form)]).toSorted((a, b) => a.start - b.start);
  let [out, end] = ['', 0];
  for (const hit of hits) {
    if (end === 0 || hit.start >= end) out += text.slice(end, hit.start) + redactionMark;
    end = Math.max(end, hit.end);
  }
  return out + text.slice(end);
}

/** Hits of one form may overlap each other, too. */
export function* hitsOf(text: string, form: string): Generator<Stretch> {
  for (let start = text.indexOf(form); start !== -1; start = text.indexOf(form, start + 1))
    yield { start, end: start + form.length };
}
