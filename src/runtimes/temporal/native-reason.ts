/** What the last of the native client's nested errors says, of the text that shows them all; null: it is none of them. */
export function nativeReason(cause: unknown): string | null {
  // Not all that comes from there is an Error.
  const text = cause instanceof Error ? cause.message : String(cause);
  const [, quoted] = /\b(?:message|error): ("(?:[^"\\]|\\.)+")/.exec(text) ?? [];
  if (quoted === undefined) return null;
  return quoted
    .slice(1, -1)
    .replace(/\\(["'\\])/g, '$1')
    .replace(/\.$/, '');
}
