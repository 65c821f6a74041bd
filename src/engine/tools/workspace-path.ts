// The confinement of the file tools (E-571, B119). Whatever reads or writes a workspace for a model goes through this file.
//
// C1. A path is walked one name at a time from the open workspace folder, and the kernel follows no link for us: links are
//     read and walked here. There is no moment between a check and its use.
// C2. `..` above the workspace and links with an absolute target elsewhere are refused before anything outside is looked
//     at, so no answer tells what exists there. A link that leads nowhere is refused, not written through.
// C3. Only regular files are opened, and without waiting: a FIFO, device or socket is refused, also one that took the
//     place of a file a moment ago.
// C4. A write replaces a name: the content goes to a new file in the same open folder and is renamed over the old one.
//     So no link and no hard link is written through, and a reader sees the old content or the new.
// C5. A refusal names the path as given.
//
// A hard link cannot be told from a file. Making one needs the right to open its file, so nothing is gained by it here.
//
// Where the kernel shows no `/proc/self/fd`, folders are held by name and compared after each opening (C1 then only
// narrows the race): Node has no `openat`.

import { constants, existsSync, type Dirent, type Stats } from 'node:fs';
import { lstat, mkdir, open, opendir, readlink, realpath, rename, rm, type FileHandle } from 'node:fs/promises';
import { isAbsolute, join, normalize, posix, relative, resolve, sep } from 'node:path';
import { toWellFormed } from '../../core/text.ts';
import { quotePath, systemCode, ToolRefusal } from './tool-refusal.ts';

export type EntryKind = 'file' | 'folder' | 'link' | 'special';

/** A folder of the workspace, held open. */
export interface Folder extends AsyncDisposable {
  /** Below the workspace, POSIX, free of links; '' is the workspace itself. */
  readonly path: string;
  readonly parent: Folder | null;
  /** What to tell the kernel to reach an entry of this very folder, also after its name was given to another. */
  at(name: string): string;
  /** Opens a folder in this one. @throws an ELOOP or ENOTDIR error if it is none or a link. */
  enter(name: string): Promise<Folder>;
  /** Throws unless this is still the folder that was opened, and `entry` if given the opened file of that name. */
  confirm(entry?: { readonly name: string; readonly stats: Stats }): Promise<void>;
}

/** Where a path leads. For a folder, `folder` is that folder and `name` is ''; else `folder` holds the entry `name`. */
export interface Place extends AsyncDisposable {
  readonly kind: 'file' | 'folder' | 'special' | 'missing';
  readonly folder: Folder;
  readonly name: string;
  /** Below the workspace, POSIX, free of links. */
  readonly path: string;
}

/** How folders are held: by open descriptor, or by name where the system has no paths to descriptors. */
export type Anchor = 'descriptor' | 'name';

export interface LocateOptions {
  /** What to do about missing folders on the way. Default: `refuse`. */
  readonly missingFolders?: 'create' | 'refuse';
  readonly anchor?: Anchor;
  /** Where relative paths begin, below the workspace. It is walked like any other part of a path. */
  readonly directory?: string | undefined;
}

const systemAnchor: Anchor = existsSync('/proc/self/fd') ? 'descriptor' : 'name';
const maxPathUnits = 4096;
/** Names walked for one path, those from links included: also the bound of open folders. */
const maxSteps = 256;
// Windows lacks the last three: undefined is 0 in an `or`, and the comparison by name does the work there.
const { O_RDONLY, O_WRONLY, O_CREAT, O_EXCL, O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK } = constants;

/** @throws ToolRefusal, or a system error that `explainFileError` puts into words. */
export async function locate(workspace: string, given: string, options: LocateOptions = {}): Promise<Place> {
  const root = await realpath(workspace);
  const roots = [root, resolve(workspace)];
  const openFolder = (options.anchor ?? systemAnchor) === 'descriptor' ? openByDescriptor : openByName;
  await using held = new AsyncDisposableStack();
  const top = held.use(await openFolder(root, '', null));
  const { directory = '.' } = options;
  const pending = namesOfPath(given, { roots, directory });
  let folder = top;
  let namesFromLink = 0;
  const reached = (kind: Place['kind'], name: string): Place => {
    const opened = held.move();
    const path = name === '' ? folder.path : below(folder, name);
    return { kind, folder, name, path, [Symbol.asyncDispose]: () => opened.disposeAsync() };
  };
  for (let steps = 0; ; steps++) {
    const name = pending.shift();
    if (name === undefined) return reached('folder', '');
    if (steps === maxSteps) throw new ToolRefusal(`${quotePath(given)} leads through too many folders or links.`);
    const isFromLink = namesFromLink > 0;
    if (isFromLink) namesFromLink--;
    if (name === '..') {
      if (folder.parent === null) throw leadsOut(given);
      folder = folder.parent;
      continue;
    }
    const kind = await look(folder, name);
    if (kind === 'link') {
      const target = await readlink(folder.at(name));
      const names = namesOfLink(target, roots) ?? refuseExit(given);
      if (isAbsolute(target)) folder = top;
      pending.unshift(...names);
      namesFromLink += names.length;
    } else if (kind === 'folder') {
      folder = held.use(await folder.enter(name));
    } else if (kind === 'missing' && isFromLink) {
      throw new ToolRefusal(`${quotePath(given)} is a link that leads nowhere.`);
    } else if (pending.length === 0) {
      return reached(kind, name);
    } else if (kind === 'missing' && options.missingFolders === 'create') {
      folder = held.use(await createFolder(folder, name));
    } else {
      const path = quotePath(given);
      throw new ToolRefusal(kind === 'missing' ? `There is nothing at ${path}.` : `A part of ${path} is not a folder.`);
    }
  }
}

/** Opens a regular file to read, and nothing else (C3). The caller closes it. */
export async function openFile(folder: Folder, name: string): Promise<FileHandle> {
  const handle = await open(folder.at(name), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  try {
    const stats = await handle.stat();
    if (!stats.isFile()) throw new ToolRefusal(`${quotePath(below(folder, name))} is not a regular file.`);
    await folder.confirm({ name, stats });
    return handle;
  } catch (error) {
    await handle.close();
    throw error;
  }
}

export interface Replacement {
  readonly bytes: Uint8Array;
  /** Name of the new file until it is whole; nobody else may use it. */
  readonly temporaryName: string;
  /** Permission bits. Absent: what the process gives to new files. */
  readonly mode?: number;
  readonly signal: AbortSignal;
}

/** Gives `name` new content in one step (C4). */
export async function replaceFile(folder: Folder, name: string, replacement: Replacement): Promise<void> {
  const temporary = folder.at(replacement.temporaryName);
  await rm(temporary, { force: true });
  const handle = await open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, replacement.mode ?? 0o666);
  try {
    try {
      await handle.writeFile(replacement.bytes, { signal: replacement.signal });
      if (replacement.mode !== undefined) await handle.chmod(replacement.mode); // the creation mode went through the umask
    } finally {
      await handle.close();
    }
    await folder.confirm();
    replacement.signal.throwIfAborted();
    await rename(temporary, folder.at(name));
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

export interface FolderEntry {
  readonly name: string;
  readonly kind: EntryKind;
}

/** The first `most` entries that the system gives, sorted by name; `isCut` when there are more. */
export async function listFolder(folder: Folder, most: number): Promise<{ entries: FolderEntry[]; isCut: boolean }> {
  const entries: FolderEntry[] = [];
  let isCut = false;
  for await (const entry of await opendir(folder.at('.'), { bufferSize: 256 })) {
    isCut = entries.length === most;
    if (isCut) break;
    entries.push({ name: entry.name, kind: kindOf(entry) });
  }
  await folder.confirm();
  return { entries: entries.toSorted((a, b) => (a.name < b.name ? -1 : 1)), isCut };
}

/** A path below the workspace, as who works in that directory of it writes it. */
export function pathFrom(directory: string | undefined, path: string): string {
  return directory === undefined ? path : posix.relative(directory, path);
}

/** The path of an entry, below the workspace. */
export function below(folder: Folder, name: string): string {
  return folder.path === '' ? name : `${folder.path}/${name}`;
}

async function openByDescriptor(at: string, path: string, parent: Folder | null): Promise<Folder> {
  const handle = await open(at, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  const folder: Folder = {
    path,
    parent,
    at: (name) => `/proc/self/fd/${handle.fd}/${name}`,
    enter: (name) => openByDescriptor(folder.at(name), below(folder, name), folder),
    confirm: async () => {},
    [Symbol.asyncDispose]: () => handle.close(),
  };
  return folder;
}

async function openByName(at: string, path: string, parent: Folder | null): Promise<Folder> {
  const opened = await lstat(at);
  const folder: Folder = {
    path,
    parent,
    at: (name) => join(at, name),
    enter: (name) => openByName(folder.at(name), below(folder, name), folder),
    confirm: async (entry) => {
      if ((await realpath(at)) !== at || !isSame(await lstat(at), opened)) throw new ToolRefusal(changed(path));
      if (entry !== undefined && !isSame(await lstat(folder.at(entry.name)), entry.stats))
        throw new ToolRefusal(changed(path));
    },
    [Symbol.asyncDispose]: async () => {},
  };
  if (!opened.isDirectory()) throw new ToolRefusal(changed(path));
  await folder.confirm();
  return folder;
}

const changed = (path: string) => `${quotePath(path)} was replaced while it was used.`;
const isSame = (a: Stats, b: Stats) => a.ino === b.ino && a.dev === b.dev;

async function createFolder(folder: Folder, name: string): Promise<Folder> {
  await mkdir(folder.at(name)).catch((error: unknown) => {
    if (systemCode(error) !== 'EEXIST') throw error; // made by another call a moment ago; entering it tells what it is
  });
  return folder.enter(name);
}

async function look(folder: Folder, name: string): Promise<EntryKind | 'missing'> {
  try {
    return kindOf(await lstat(folder.at(name)));
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return 'missing';
    throw error;
  }
}

function kindOf(entry: Dirent | Stats): EntryKind {
  if (entry.isFile()) return 'file';
  if (entry.isDirectory()) return 'folder';
  return entry.isSymbolicLink() ? 'link' : 'special';
}

/** `a/../b` is `b` here, whatever `a` is: `..` is taken out before anything is looked at. */
function namesOfPath(
  given: string,
  { roots, directory }: { readonly roots: readonly string[]; readonly directory: string },
): string[] {
  if (given.includes('\0')) throw new ToolRefusal(`${quotePath(given)} has a NUL in it and cannot be a path.`);
  if (given.length > maxPathUnits) throw new ToolRefusal(`${quotePath(given)} is too long for a path.`);
  const path = toWellFormed(given);
  const names = namesOfLink(normalize(isAbsolute(path) ? path : join(directory, path)), roots) ?? refuseExit(given);
  return names[0] === '..' ? refuseExit(given) : names;
}

/** The names of a link's target, `..` among them; undefined when it is absolute and, by its text, not below a root. */
function namesOfLink(target: string, roots: readonly string[]): string[] | undefined {
  if (!isAbsolute(target)) return namesOf(target);
  const inside = roots
    .map((root) => relative(root, target))
    .find((path) => namesOf(path)[0] !== '..' && !isAbsolute(path));
  return inside === undefined ? undefined : namesOf(inside);
}

function namesOf(path: string): string[] {
  return path.split(sep).filter((name) => name !== '' && name !== '.');
}

function leadsOut(given: string): ToolRefusal {
  return new ToolRefusal(`${quotePath(given)} leads out of the workspace.`);
}

function refuseExit(given: string): never {
  throw leadsOut(given);
}
