import type { ToolItem, ToolState } from '../state/row.ts';
import type { IconName } from './icon.tsx';

/** What a call's line tells beside its name and its state, with which the brief begins. */
export function bitsOf({ name, brief, detail }: Pick<ToolItem, 'name' | 'brief' | 'detail'>): string {
  // How a command ended is the last that it says, and of several lines the brief has the first.
  const exit = /\nExit code (\d+)[^\n]*$/.exec(detail ?? '')?.[1];
  const bits = withoutHead(name, brief);
  return [exit === undefined ? '' : `exit code ${exit}`, bits].filter((bit) => bit !== '').join(' · ');
}

function withoutHead(name: string, brief: string): string {
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

/** Whether the server told only the beginning and the end of what it gave. */
export function leavesOut(detail: string): boolean {
  return /^… \(\d+ more lines\)$/m.test(detail) || detail.endsWith('…');
}
