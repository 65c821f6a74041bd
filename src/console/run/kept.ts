// What this browser keeps (C-002): what is written but not sent, what waits, what a person prefers; and over a reload, how far
// the page had read. Never a credential.
//
// K1. Where the browser keeps nothing (full, forbidden), the page goes on with what it has in memory, and says so once.
// K2. What is typed is written a moment later, and before the page goes.
// K3. What is read is checked: another version of the page may have written it.

import { fromSnapshot, toSnapshot } from '../state/snapshot.ts';
import { initialState, type Chip, type Composer, type Preferences } from '../state/state.ts';
import { parsedObject, textIn } from './loose.ts';
import type { Effect } from '../state/effect.ts';
import type { Platform } from './platform.ts';
import type { Row } from '../state/row.ts';

type Of<T extends Effect['type']> = Extract<Effect, { type: T }>;

export interface Kept {
  readDraft(sessionId: string | null): { readonly draft: Partial<Composer>; readonly chips: readonly Chip[] };
  saveDraft(effect: Of<'saveDraft'>): void;
  dropDraft(sessionId: string): void;
  readPreferences(): Preferences;
  savePreferences(effect: Of<'savePreferences'>): void;
  readRows(): readonly Row[];
  saveRows(rows: readonly Row[]): void;
  /** Last number of this response that this tab had read; -1: it did not. */
  readCursor(responseId: string): number;
  saveCursor(cursor: { readonly responseId: string; readonly number: number }): void;
  flush(): void;
}

const writeAfterMs = 300;

export interface KeptParts extends Pick<Platform, 'clock' | 'storage'> {
  /** Whose they are. */
  readonly owner: string;
  readonly onFailure: (error: unknown) => void;
}

export function createKept({ clock, storage, owner, onFailure }: KeptParts): Kept {
  const memory = new Map<string, string>();
  const unwritten = new Set<string>();
  let cancelTimer: (() => void) | null = null;
  let hasFailed = false;

  const tried = <T>(work: () => T): T | null => {
    try {
      return work();
    } catch (error) {
      if (!hasFailed) onFailure(error);
      hasFailed = true;
      return null;
    }
  };
  const named = (name: string) => `reins.${owner}.${name}`;
  const read = (name: string) => memory.get(name) ?? tried(() => storage('browser').getItem(named(name)));
  const flush = () => {
    cancelTimer?.();
    cancelTimer = null;
    for (const name of unwritten) {
      const text = memory.get(name) ?? '';
      tried(() =>
        text === '' ? storage('browser').removeItem(named(name)) : storage('browser').setItem(named(name), text),
      );
    }
    // What could not be written stays in memory; of the rest the storage is the better witness, for other tabs write there.
    if (!hasFailed) for (const name of unwritten) memory.delete(name);
    unwritten.clear();
  };
  const write = (name: string, text: string) => {
    memory.set(name, text);
    unwritten.add(name);
    cancelTimer ??= clock.timer(writeAfterMs, flush);
  };
  const draftOf = (sessionId: string | null) => `draft.${sessionId ?? 'new'}`;
  return {
    flush,
    readDraft: (sessionId) => draftFrom(read(draftOf(sessionId))),
    saveDraft: ({ sessionId, draft: { draft, model, harness, cwd }, chips }) =>
      write(
        draftOf(sessionId),
        draft === '' && chips.length === 0 && cwd === null
          ? ''
          : JSON.stringify({
              draft,
              model,
              harness,
              cwd,
              chips: chips.map(({ id, text, attachments }) => ({ id, text, attachments })),
            }),
      ),
    dropDraft: (sessionId) => write(draftOf(sessionId), ''),
    readPreferences: () => preferencesFrom(read('preferences')),
    savePreferences: ({ preferences }) => write('preferences', JSON.stringify(preferences)),
    readRows: () => fromSnapshot(read('rows') ?? ''),
    saveRows: (rows) => write('rows', toSnapshot(rows)),
    readCursor(responseId) {
      const kept = parsedObject(tried(() => storage('tab').getItem('reins.cursor')));
      return kept['responseId'] === responseId && typeof kept['number'] === 'number' ? kept['number'] : -1;
    },
    saveCursor: (cursor) => void tried(() => storage('tab').setItem('reins.cursor', JSON.stringify(cursor))),
  };
}

function draftFrom(text: string | null): ReturnType<Kept['readDraft']> {
  if (text === null || text === '') return { draft: {}, chips: [] };
  const kept = parsedObject(text);
  const chips = Array.isArray(kept['chips']) ? kept['chips'].flatMap(chipFrom) : [];
  const [model, harness, cwd] = [textIn(kept, 'model'), textIn(kept, 'harness'), textIn(kept, 'cwd')];
  return { draft: { draft: textIn(kept, 'draft') ?? '', model, harness, cwd }, chips };
}

function chipFrom(value: unknown): readonly Chip[] {
  const [id, text] = [textIn(value, 'id'), textIn(value, 'text')];
  if (id === null || text === null || typeof value !== 'object' || value === null) return [];
  const files = 'attachments' in value && Array.isArray(value.attachments) ? value.attachments : [];
  const attachments = files.filter((file) => typeof file === 'string');
  return [{ id, text, attachments, state: 'waiting' }];
}

function preferencesFrom(text: string | null): Preferences {
  const kept = parsedObject(text);
  const usual = initialState.preferences;
  const oneOf = <T extends string>(name: string, values: readonly T[]) => values.find((each) => each === kept[name]);
  return {
    transport: oneOf('transport', ['task', 'agent']) ?? usual.transport,
    enter: oneOf('enter', ['send', 'newline']) ?? usual.enter,
    theme: oneOf('theme', ['system', 'light', 'dark']) ?? usual.theme,
  };
}
