import type { ToolItem, ToolState } from '../state/row.ts';
import type { IconName } from './icon.tsx';

/** What a call's line tells beside its name and its state, with which the brief begins. */
export function bitsOf({ name, brief }: Pick<ToolItem, 'name' | 'brief'>): string {
  for (const head of [`${name} · ✓ ok`, `${name} · ✗ failed`])
    if (brief.startsWith(head)) return brief.slice(head.length).replace(/^ · /, '');
  return brief === name ? '' : brief;
}

export const toolMarks: Readonly<Record<ToolState, IconName>> = {
  running: 'more',
  waiting: 'wait',
  ok: 'check',
  failed: 'failed',
  stopped: 'stop',
};
