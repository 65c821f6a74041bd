// Private folders of runtimes, one for each session and base, below the data folder (H-135), and what is written down of the
// processes in them, so that a later server ends what an earlier one has left (H-065).

import { lookAtProcess, thisProcess, type ProcessIdentity } from '../../process/process-identity.ts';
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { stopTree } from '../../process/stop-tree.ts';
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
  /** Of this session's processes, the same in all of them, over restarts. */
  readonly marker: string;
  /** What an earlier process left to be resumed from; null: nothing. */
  readonly state: NativeState | null;
  remember(state: NativeState): Promise<void>;
}

export interface Homes {
  open(sessionId: SessionId, base: string): Promise<Home>;
  /** Removes all of a session, processes first. */
  forget(sessionId: SessionId): Promise<void>;
  /** Ends every process of a server that is gone (H-065); to be done before requests are answered. */
  endLeftovers(): Promise<number>;
}

const noteShape = z.object({
  marker: z.string().min(16),
  owner: z.object({ place: z.string(), pid: z.int(), startTicks: z.int().nullable() }),
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
  readonly owner: ProcessIdentity;
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
  const noteOf = (sessionId: SessionId, base: string) => join(folder(sessionId), `${base}.json`);
  return {
    async open(sessionId, base) {
      const path = join(folder(sessionId), base);
      // Not within the home: runtimes take a home below the temporary folder for a passing one.
      const temporary = join(folder(sessionId), `${base}-tmp`);
      for (const each of [path, temporary]) await mkdir(each, { recursive: true, mode: 0o700 });
      const file = noteOf(sessionId, base);
      const known = await readNote(file);
      const note: Note = {
        marker: known?.marker ?? random.token(),
        owner: thisProcess(),
        state: known?.state ?? null,
      };
      await writeNote(file, note);
      return {
        path,
        temporary,
        marker: note.marker,
        state: note.state,
        remember: (state) => writeNote(file, { ...note, state }),
      };
    },
    async forget(sessionId) {
      for (const note of await notesIn(folder(sessionId))) await end(note, clock);
      await rm(folder(sessionId), { recursive: true, force: true });
    },
    async endLeftovers() {
      let ended = 0;
      for (const sessionId of await namesIn(root))
        for (const note of await notesIn(join(root, sessionId)))
          if (lookAtProcess(note.owner) === 'dead') ended += await end(note, clock);
      return ended;
    },
  };
}

async function end({ marker }: Note, clock: Clock): Promise<number> {
  return (await stopTree({ marker, root: null }, { clock, graceMs: 0 })).found.length;
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

async function writeNote(file: string, note: Note): Promise<void> {
  await writeFile(`${file}.new`, JSON.stringify(note), { mode: 0o600 });
  await rename(`${file}.new`, file);
}
