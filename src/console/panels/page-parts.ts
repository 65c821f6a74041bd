import { createPart } from './part.ts';

export const markdownPart = createPart(() => import('../markdown/create-markdown-view.ts'));
export const dialogsPart = createPart(() => import('./dialogs.tsx'));

/** While nobody waits for them. Text first: it is plain until then. */
export async function fetchParts(): Promise<void> {
  for (const part of [markdownPart, dialogsPart]) await part.load().catch(() => null);
}
