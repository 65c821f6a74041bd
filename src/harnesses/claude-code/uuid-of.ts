import type { Random } from '../../core/random.ts';

/** A new UUID of version 4: the form in which Claude Code takes ids. */
export function uuidOf(random: Random): string {
  const hex = random.token();
  const parts = [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `4${hex.slice(13, 16)}`,
    `a${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ];
  return parts.join('-');
}
