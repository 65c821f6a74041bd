import { execFileSync } from 'node:child_process';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ConfigurationError, NotFoundError, StorageError } from '../core/errors.ts';
import { sessionIds } from '../core/ids.ts';
import { createWorkspaces, fixedWorkspace, FolderTakenError } from './workspaces.ts';

let base: string;
let dataDir: string;
let template: string;
const session = sessionIds.make('1');

beforeEach(() => {
  base = mkdtempSync(join(realpathSync(tmpdir()), 'reins-workspaces-'));
  [dataDir, template] = [join(base, 'data'), join(base, 'template')];
  mkdirSync(join(template, 'src'), { recursive: true });
  writeFileSync(join(template, 'src/run.sh'), 'echo', { mode: 0o755 });
});
afterEach(() => rmSync(base, { recursive: true, force: true }));

test('UD-86: each session has an empty folder of its own, made once and gone with the session', async () => {
  const workspaces = createWorkspaces({ dataDir });
  const [first, again] = await Promise.all([workspaces.ensure(session), workspaces.ensure(session)]);
  expect(first).toBe(join(dataDir, 'workspaces', session));
  expect(again).toBe(first);
  writeFileSync(join(first, 'a.txt'), 'a');
  expect(readdirSync(await workspaces.ensure(session))).toEqual(['a.txt']);
  expect(readdirSync(await workspaces.ensure(sessionIds.make('2')))).toEqual([]);
  await workspaces.remove(session);
  await workspaces.remove(session);
  expect(readdirSync(join(dataDir, 'workspaces'))).toEqual([sessionIds.make('2')]);
});

test('UD-88: a workspace begins as a copy of the template, and nothing written to it reaches the template', async () => {
  const path = await createWorkspaces({ dataDir, template }).ensure(session);
  expect(statSync(join(path, 'src/run.sh')).mode & 0o777).toBe(0o755);
  expect(statSync(join(path, 'src/run.sh')).nlink).toBe(1);
  writeFileSync(join(path, 'src/run.sh'), 'changed');
  expect(readFileSync(join(template, 'src/run.sh'), 'utf8')).toBe('echo');
});

test('UD-88: what is named for one session stands in place of that for all, once; links on the way to it are followed', async () => {
  const own = join(base, 'own');
  mkdirSync(own);
  writeFileSync(join(own, 'own.txt'), '');
  symlinkSync(own, join(base, 'link'));
  const workspaces = createWorkspaces({ dataDir, template });
  const path = await workspaces.ensure(session, join(base, 'link'));
  expect([readdirSync(path), await workspaces.ensure(session)]).toEqual([['own.txt'], path]);
  await expect(workspaces.ensure(sessionIds.make('2'), join(base, 'gone'))).rejects.toThrow(StorageError);
});

test('UD-88: .git, node_modules, the data folder and what is no file are left out of the copy', async () => {
  for (const name of ['.git', 'node_modules', 'src/node_modules']) mkdirSync(join(template, name));
  execFileSync('/usr/bin/env', ['mkfifo', join(template, 'pipe')]);
  const inTemplate = join(template, '.reins');
  const path = await createWorkspaces({ dataDir: inTemplate, template }).ensure(session);
  expect(readdirSync(path)).toEqual(['src']);
  expect(readdirSync(join(path, 'src'))).toEqual(['run.sh']);
});

test('B119: links of the template are copied only if they stay inside, and mean the same in the copy', async () => {
  const links = {
    plain: 'src/run.sh',
    absolute: join(template, 'src'),
    roundabout: '../template/src/run.sh',
    'src/up': '..',
    out: '../data',
    system: '/etc/passwd',
    dangling: 'no/such',
  };
  for (const [name, target] of Object.entries(links)) symlinkSync(target, join(template, name));
  const path = await createWorkspaces({ dataDir, template }).ensure(session);
  const copied = Object.keys(links).filter(
    (name) => lstatSync(join(path, name), { throwIfNoEntry: false }) !== undefined,
  );
  expect(copied).toEqual(['plain', 'absolute', 'roundabout', 'src/up']);
  for (const name of copied) expect(realpathSync(join(path, name)).startsWith(path)).toBe(true);
  expect(readlinkSync(join(path, 'absolute'))).toBe('src');
});

test('S1: what a crash left half filled is never taken for a workspace', async () => {
  const workspaces = createWorkspaces({ dataDir, template });
  const left = `.new-${session}-a`;
  mkdirSync(join(dataDir, 'workspaces', left, 'new', 'half'), { recursive: true });
  expect(readdirSync(await workspaces.ensure(session))).toEqual(['src']);
  await workspaces.removeUnfinished(Date.now() - 60_000);
  expect(readdirSync(join(dataDir, 'workspaces'))).toEqual([left, session]);
  await workspaces.removeUnfinished(Date.now() + 60_000);
  expect(readdirSync(join(dataDir, 'workspaces'))).toEqual([session]);
});

test('S1: of many processes that make the same one it is one of theirs, whole; who fills it hears that it is taken', async () => {
  const makers = Array.from({ length: 8 }, () => createWorkspaces({ dataDir, template }));
  const paths = await Promise.all(makers.map((maker) => maker.ensure(session)));
  expect(new Set(paths).size).toBe(1);
  expect(readdirSync(paths[0] ?? '')).toEqual(['src']);
  const other = sessionIds.make('other');
  const fills = makers.map((maker, n) => maker.fill(other, (path) => writeFile(join(path, `${n}`), '')));
  const ends = await Promise.allSettled(fills);
  expect(ends.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  const refused = ends.flatMap((end) => (end.status === 'rejected' ? [end.reason as unknown] : []));
  for (const reason of refused) expect(reason).toBeInstanceOf(FolderTakenError);
  expect(readdirSync(join(dataDir, 'workspaces', other))).toHaveLength(1);
});

test('S1: a copy that fails leaves no workspace, and the next try begins anew', async () => {
  const workspaces = createWorkspaces({ dataDir, template });
  rmSync(template, { recursive: true });
  await expect(workspaces.ensure(session)).rejects.toThrow(StorageError);
  mkdirSync(template);
  expect(readdirSync(await workspaces.ensure(session))).toEqual([]);
});

test('B121, S3: an id that is no plain name makes and removes nothing', async () => {
  const workspaces = createWorkspaces({ dataDir });
  for (const token of ['/../../x', '\0', 'a/b', '..\\x', 'x'.repeat(200)]) {
    await expect(workspaces.ensure(sessionIds.make(token))).rejects.toThrow(NotFoundError);
    await expect(workspaces.remove(sessionIds.make(token))).rejects.toThrow(NotFoundError);
  }
  expect(readdirSync(join(dataDir, 'workspaces'))).toEqual([]);
});

test('B119: a link in the place of a workspace is refused, and removing it removes only the link', async () => {
  const workspaces = createWorkspaces({ dataDir });
  symlinkSync(template, join(dataDir, 'workspaces', session));
  await expect(workspaces.ensure(session)).rejects.toThrow(StorageError);
  await workspaces.remove(session);
  expect(existsSync(join(template, 'src/run.sh'))).toBe(true);
});

test('E-020: a template that cannot work is refused at the start', () => {
  const withTemplate = (path: string) => () => createWorkspaces({ dataDir, template: path });
  expect(withTemplate(join(base, 'missing'))).toThrow(ConfigurationError);
  expect(withTemplate(join(template, 'src/run.sh'))).toThrow(ConfigurationError);
  expect(withTemplate(dataDir)).toThrow(ConfigurationError);
  expect(existsSync(dataDir)).toBe(false);
  mkdirSync(join(dataDir, 'workspaces/x'), { recursive: true });
  expect(withTemplate(dataDir)).toThrow(ConfigurationError);
  expect(withTemplate(join(dataDir, 'workspaces/x'))).toThrow(ConfigurationError);
});

test('UD-88: a fixed workspace is the given folder for every session and survives them', async () => {
  const workspaces = fixedWorkspace(template);
  expect(await workspaces.ensure(session)).toBe(template);
  await workspaces.remove(session);
  expect(existsSync(join(template, 'src/run.sh'))).toBe(true);
  expect(() => fixedWorkspace(join(base, 'missing'))).toThrow(ConfigurationError);
});
