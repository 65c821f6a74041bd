const prefix = 'reins_secret:';

/** What a stored secret is shown as (UD-37). */
export function secretHandle(id: string): string {
  return prefix + id;
}

/** The id in a handle; null: the text is none, but a value of its own. */
export function secretIdOf(text: string): string | null {
  return text.startsWith(prefix) ? text.slice(prefix.length) : null;
}
