// Kill -9 before every statement that a script executes on a SQLite store, in a real child process.

import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect } from 'vitest';

export interface Crash<F> {
  /** Of the database that the child left. */
  readonly path: string;
  /** What it had said before it was killed. */
  readonly facts: readonly F[];
  readonly killedAt: number;
}

/** What a script finds before it: the open `store`, `samples`, and `say`, which tells the test what was acknowledged. */
const prelude = `
import { writeSync } from 'node:fs';
import { openSqlite } from ${JSON.stringify(import.meta.resolve('../stores/sqlite/open-sqlite.ts'))};
import * as samples from ${JSON.stringify(import.meta.resolve('./store-samples.ts'))};
const [path, killAt] = process.argv.slice(1);
let statements = 0;
const store = openSqlite(path, {
  onStatement() {
    if (++statements === Number(killAt)) process.kill(process.pid, 'SIGKILL');
  },
});
const say = (fact) => writeSync(1, JSON.stringify(fact) + '\\n');
`;

/** Runs the script once whole and once for each of its statements, killed before it; gives the number of statements. */
export async function crashEverywhere<F>(script: string, check: (crash: Crash<F>) => Promise<void>): Promise<number> {
  return inFolder(async (cache) => {
    const whole = await inFolder((folder) =>
      runChild<number>(`${script}\nsay(statements);`, { folder, cache, killAt: 0 }),
    );
    const statements = whole.facts.at(-1) ?? 0;
    const kills = Array.from({ length: statements }, (_, index) => index + 1);
    const next = async (): Promise<void> => {
      for (let killAt = kills.pop(); killAt !== undefined; killAt = kills.pop())
        await inFolder(killAndCheck(script, { cache, killAt, check }));
    };
    await Promise.all([next(), next(), next()]);
    return statements;
  });
}

function killAndCheck<F>(
  script: string,
  o: { readonly cache: string; readonly killAt: number; readonly check: (crash: Crash<F>) => Promise<void> },
): (folder: string) => Promise<void> {
  return async (folder) => {
    const { signal, facts } = await runChild<F>(script, { ...o, folder });
    expect(signal).toBe('SIGKILL');
    await o.check({ path: databaseIn(folder), facts, killedAt: o.killAt });
  };
}

interface Child<F> {
  readonly signal: NodeJS.Signals | null;
  readonly facts: readonly F[];
}

/** @param o.cache  Folder for compiled modules: compiling them is nearly all that a child does. */
async function runChild<F>(
  script: string,
  o: { readonly folder: string; readonly cache: string; readonly killAt: number },
): Promise<Child<F>> {
  const args = ['--input-type=module', '-e', prelude + script, databaseIn(o.folder), String(o.killAt)];
  const child = spawn(process.execPath, args, { env: { NODE_COMPILE_CACHE: o.cache } });
  const exit = new Promise<NodeJS.Signals | null>((resolve) => child.on('exit', (_, signal) => resolve(signal)));
  const [out, errors] = await Promise.all([text(child.stdout), text(child.stderr)]);
  expect(errors.replaceAll(/^.*(?:ExperimentalWarning|--trace-warnings).*$/gm, '').trim()).toBe('');
  return { signal: await exit, facts: out.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line)])) };
}

function databaseIn(folder: string): string {
  return join(folder, 'reins.db');
}

async function inFolder<T>(body: (path: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'reins-crash-'));
  try {
    return await body(folder);
  } finally {
    await rm(folder, { recursive: true });
  }
}
