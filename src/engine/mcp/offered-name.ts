import { createHash } from 'node:crypto';

/** The longest that all providers take. */
const maxUnits = 64;
const hashUnits = 8;

/**
 * `<server>_<tool>` in the characters that all providers take. The plain form, unless it is too long or another tool has
 * it: then it is cut, and a hash of both full names follows.
 */
export function offeredName(server: string, tool: string, taken: { has(name: string): boolean }): string {
  const plain = `${identifier(server)}_${identifier(tool)}`;
  if (plain.length <= maxUnits && !taken.has(plain)) return plain;
  const hash = createHash('sha256')
    .update(JSON.stringify([server, tool]))
    .digest('hex');
  return `${plain.slice(0, maxUnits - hashUnits - 1)}_${hash.slice(0, hashUnits)}`;
}

/** What an agent calls a server (UD-39). */
export function identifier(name: string): string {
  return name.replaceAll(/[^A-Za-z0-9_-]/gu, '_');
}
