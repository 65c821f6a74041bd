// Private folders of runtimes, one for each session and base, below the data folder (H-135), and what is written down of the
// processes in them, so that a later server ends what an earlier one has left (H-065).
//
// O1. A home has one marker for ever, and each start in it one that begins with it: who stops a start stops no other, and what
//     is left of all of them is found at once.
// O2. A home is its last opener's: nobody else writes its note any more.
// O3. An owner that is dead may have left processes; one that has left in order has not.
// O4. A session is one server's at a time: what another keeps for it goes before this one opens the home.

import { lookAtProcess, thisProcess, type ProcessIdentity } from '../../process/process-identity.ts';
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { isDeepStrictEqual } from 'node:util';
import { join } from 'node:path';
import { stopTree, type StoppedTree } from '../../process/stop-tree.ts';
import * as z from 'zod';
import type { Clock } from '../../core/clock.ts';
import type { JsonObject } from '../../core/json.ts';
import type { NativeState } from './runtime.ts';
import type { Random } from '../../core/random.ts';
import type { SessionId } from '../../core/ids.ts';

export interface Home {
  /** Absolute, there, mode 0700. */
  readonly path: string;
  readonly temporary: string;
  /** Of the processes of this start (O1). */
  readonly marker: string;
  /** What an earlier process left to be resumed from; null: nothing. */
  readonly state: NativeState | null;
  /** Does nothing once another process has opened the home (O2). */
  remember(state: NativeState): Promise<void>;
}

export interface Homes {
  open(sessionId: SessionId, base: string): Promise<Home>;
  /** Ends what another server keeps for the session (O4). Gives what could not be stopped. */
  endElsewhere(sessionId: SessionId, base: string): Promise<readonly string[]>;
  /** Removes all of a session, processes first. */
  forget(sessionId: SessionId): Promise<void>;
  /** Ends every process of a server that is gone (H-065); to be done before requests are answered. */
  endLeftovers(): Promise<number>;
  /** No process is left in what was opened here, and none will be started (O3). */
  leave(): Promise<void>;
}

const noteShape = z.object({
  marker: z.string().min(16),
  owner: z.object({ place: z.string(), pid: z.int(), startTicks: z.int().nullable() }).nullable(),
  state: z
    .object({
      nativeId: z.string(),
      version: z.string().nullable(),
      data: z.record(z.string(), z.json()).optional(),
    })
    .nullable(),
});
interface Note {
  readonly marker: string;
  /** Null: it has left in order. */
  readonly owner: ProcessIdentity | null;
  readonly state: NativeState | null;
}

export function createHomes({
  root,
  clock,
  random,
}: {
  /** Absolute path of the folder of all homes. */
  readonly root: string;
  readonly clock: Clock;
  readonly random: Random;
}): Homes {
  const folder = (sessionId: SessionId) => join(root, sessionId);
  const fileOf = (sessionId: SessionId, base: string) => join(folder(sessionId), `${base}.json`);
  const self = thisProcess();
  const opened = new Map<SessionId, Set<string>>();
  /** O3, O4. */
  const isOfAnother = ({ owner }: Note) => owner !== null && !isDeepStrictEqual(owner, self);

  /** Where the home is another's by now, or gone, nothing is written (O2). */
  async function change(file: string, changed: Partial<Note>): Promise<void> {
    const note = await readNote(file);
    if (note === null || (note.owner !== null && !isDeepStrictEqual(note.owner, self))) return;
    await write(file, { ...note, ...changed });
  }

  async function write(file: string, note: Note): Promise<void> {
    // Two may write at the same time, and each has a name of its own until it is whole.
    const fresh = `${file}.${random.token()}.new`;
    await writeFile(fresh, JSON.stringify(note), { mode: 0o600 });
    await rename(fresh, file);
  }

  return {
    async open(sessionId, base) {
      const path = join(folder(sessionId), base);
      // Not within the home: runtimes take a home below the temporary folder for a passing one.
      const temporary = join(folder(sessionId), `${base}-tmp`);
      for (const each of [path, temporary]) await mkdir(each, { recursive: true, mode: 0o700 });
      const file = fileOf(sessionId, base);
      const known = await readNote(file);
      if (known !== null && isOfAnother(known)) await end([known], clock);
      const { marker, state } = known ?? { marker: random.token(), state: null };
      opened.set(sessionId, (opened.get(sessionId) ?? new Set()).add(file));
      await write(file, { marker, owner: self, state });
      return {
        path,
        temporary,
        marker: `${marker}.${random.token()}`,
        state,
        remember: (next) => change(file, { state: next }),
      };
    },
    async endElsewhere(sessionId, base) {
      const known = await readNote(fileOf(sessionId, base));
      return known !== null && isOfAnother(known) ? (await end([known], clock)).unstopped : [];
    },
    async forget(sessionId) {
      await end(await notesIn(folder(sessionId)), clock);
      opened.delete(sessionId);
      await rm(folder(sessionId), { recursive: true, force: true });
    },
    async endLeftovers() {
      const left: Note[] = [];
      for (const sessionId of await namesIn(root))
        left.push(...(await notesIn(join(root, sessionId))).filter(mayHaveLeft));
      return (await end(left, clock)).found.length;
    },
    async leave() {
      for (const file of [...opened.values()].flatMap((files) => [...files])) await change(file, { owner: null });
    },
  };
}

/** O3. */
function mayHaveLeft({ owner }: Note): boolean {
  return owner !== null && lookAtProcess(owner) === 'dead';
}

/** All in one look at the system's processes, which may be many. */
async function end(notes: readonly Note[], clock: Clock): Promise<StoppedTree> {
  if (notes.length === 0) return { found: [], unstopped: [] };
  const marker = new Set(notes.map((note) => note.marker));
  return stopTree({ marker, root: null }, { clock, graceMs: 0 });
}

async function notesIn(folder: string): Promise<readonly Note[]> {
  const names = (await namesIn(folder)).filter((name) => name.endsWith('.json'));
  const notes = await Promise.all(names.map((name) => readNote(join(folder, name))));
  return notes.flatMap((note) => note ?? []);
}

async function namesIn(folder: string): Promise<readonly string[]> {
  return readdir(folder).catch(() => []);
}

async function readNote(file: string): Promise<Note | null> {
  const text = await readFile(file, 'utf8').catch(() => null);
  if (text === null) return null;
  try {
    const { marker, owner, state } = noteShape.parse(JSON.parse(text));
    return { marker, owner, state: state === null ? null : withData(state) };
  } catch {
    return null; // cut off by a crash, or of another version: the session begins anew, and says so
  }
}

function withData({
  data,
  ...rest
}: {
  nativeId: string;
  version: string | null;
  data?: JsonObject | undefined;
}): NativeState {
  return { ...rest, ...(data === undefined ? {} : { data }) };
}
