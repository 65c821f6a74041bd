// What one machine knows of a session's working directory as it lies there: how it stood, by stamps that mean nothing elsewhere,
// and after which run. A note that a crash has cut off is none.

import { appendFile, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parsedOrText } from '../core/json.ts';
import { readHeld, readLines, writeHeld, type HeldEntry, type HeldState } from './held-state.ts';
import { z } from 'zod';
import type { RunPlace } from './held-states.ts';
import type { SessionId } from '../core/ids.ts';

const marks = z.object({
  /** The run that left the directory as it is, or that the one at work on it came after; null: there was none. */
  after: z.string().nullable(),
  /** Hash of the state in which its run was parked, by whichever machine; null: it never was. */
  parked: z.string().nullable(),
  /** Hash of what was stored here of how its run leaves it, whose end may be stored by now; null: it has not come so far. */
  left: z.string().nullable().default(null),
});
export type Mark = Readonly<z.infer<typeof marks>>;
export const noMark: Mark = { after: null, parked: null, left: null };

export interface SessionNotes {
  /** A folder below that of the session, there already. */
  folder(sessionId: SessionId, ...names: readonly string[]): string;
  makeFolders(sessionId: SessionId): Promise<void>;
  /** How the directory stood as the run began; null: here it never has. */
  begun(place: RunPlace): Promise<HeldState | null>;
  /** In place of those of earlier runs of the session, which are of no more use. */
  begin(place: RunPlace, state: HeldState): Promise<void>;
  forgetBegun(sessionId: SessionId): Promise<void>;
  given(place: RunPlace, path: string, entry: HeldEntry): Promise<void>;
  /** The newest state whose bytes are stored; empty where none is. */
  known(sessionId: SessionId): Promise<HeldState>;
  setKnown(sessionId: SessionId, state: HeldState): Promise<void>;
  mark(sessionId: SessionId): Promise<Mark>;
  setMark(sessionId: SessionId, mark: Mark): Promise<void>;
}

export function createSessionNotes(dataDir: string): SessionNotes {
  const at = (sessionId: SessionId, ...rest: readonly string[]) => join(dataDir, 'files', sessionId, ...rest);
  const begunAt = ({ sessionId, runId }: RunPlace, ending: 'json' | 'given') =>
    at(sessionId, 'begun', `${runId}.${ending}`);
  const forgetBegun = async (sessionId: SessionId) => {
    await rm(at(sessionId, 'begun'), { recursive: true, force: true });
    await mkdir(at(sessionId, 'begun'), { recursive: true, mode: 0o700 });
  };
  return {
    folder: at,
    async makeFolders(sessionId) {
      for (const name of ['kept', 'held', 'begun']) await mkdir(at(sessionId, name), { recursive: true, mode: 0o700 });
    },
    async begun(place) {
      const begun = await readHeld(begunAt(place, 'json'));
      return begun === null ? null : new Map([...begun, ...(await readLines(begunAt(place, 'given')))]);
    },
    forgetBegun,
    async begin(place, state) {
      await forgetBegun(place.sessionId);
      await writeHeld(begunAt(place, 'json'), state);
    },
    // A line at a time: two that come at once lose nothing of each other.
    given: (place, path, entry) =>
      appendFile(begunAt(place, 'given'), `${JSON.stringify([path, entry])}\n`, { mode: 0o600 }),
    known: async (sessionId) => (await readHeld(at(sessionId, 'known.json'))) ?? new Map(),
    setKnown: (sessionId, state) => writeHeld(at(sessionId, 'known.json'), state),
    async mark(sessionId) {
      const text = await readFile(at(sessionId, 'mark.json'), 'utf8').catch(() => '');
      return marks.safeParse(parsedOrText(text)).data ?? noMark;
    },
    async setMark(sessionId, mark) {
      const path = at(sessionId, 'mark.json');
      await writeFile(`${path}.new`, JSON.stringify(mark), { mode: 0o600, flush: true });
      await rename(`${path}.new`, path);
    },
  };
}
