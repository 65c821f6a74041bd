// Commands say which data folder they mean, and how to mean that of `npm start`.

import { beforeAll, expect, test } from 'vitest';
import { join } from 'node:path';
import { mkdir } from 'node:fs/promises';
import { openDataFolder } from '../src/data-folder.ts';
import { readdirSync } from 'node:fs';
import { openSqlite } from '../src/stores/sqlite/open-sqlite.ts';
import { reins } from './reins-process.ts';
import { temporaryFolder } from './support/folders.ts';

/** Holds a `.reins`, as the folder of a repository does whose server was started by npm. */
let cwd: string;
/** The data folder that the environment names. */
let data: string;
beforeAll(async () => {
  [cwd, data] = [temporaryFolder(), temporaryFolder()];
  await mkdir(join(cwd, '.reins'));
  await openSqlite(join(data, 'reins.db'))[Symbol.asyncDispose]();
});

const run = (args: readonly string[], env: Record<string, string> = {}, at = cwd) =>
  reins(args, { cwd: at, env: { REINS_DATA_DIR: data, ...env } });
const hint = 'For the server of npm start in this folder: --data .reins.';

test('a key says where it is, and where it is not, unless the folder was named', async () => {
  const create = ['keys', 'create', '--principal', 'ada'];
  const made = await run(create);
  expect(made).toMatchObject({ code: 0, stdout: expect.stringMatching(/^rk_[\w-]{43}\n$/) });
  expect(made.stderr).toContain(`It is in the data folder ${data}, and is not shown again. ${hint}\n`);
  for (const { stderr } of [await run([...create, '--data', data]), await run(create, {}, temporaryFolder())]) {
    expect(stderr).toContain(data);
    expect(stderr).not.toContain('.reins');
  }
});

test.each([
  [['sessions'], {}, 'No server works on the data folder'],
  [['cancel', 'resp_x', '--url', 'http://127.0.0.1:9'], {}, 'There is no key'],
  [['keys', 'list'], { REINS_DATA_DIR: '/nonexistent/data' }, 'There is no data folder at /nonexistent/data'],
])('reins %j with nothing to speak to names the folder of npm start', async (args, env, sentence) => {
  const { code, stderr } = await run(args, env);
  expect(code).not.toBe(0);
  expect(stderr).toContain(sentence);
  expect(stderr).toContain(hint);
  expect((await run(args, env, temporaryFolder())).stderr).not.toContain('.reins');
});

test('a server that does not answer is named', async () => {
  const { code, stderr } = await run(['sessions', '--url', 'http://127.0.0.1:9', '--key', 'x']);
  expect({ code, stderr }).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('The server at http://127.0.0.1:9 could not be reached'),
  });
});

test('a folder of one file is written as one, and who puts it back is told how to make a key', async () => {
  const [file, restored] = [join(temporaryFolder(), 'all.zip'), join(temporaryFolder(), 'data')];
  expect((await run(['export', file])).stdout).toBe(`Wrote 1 file of ${data} to ${file}.\n`);
  const { stdout } = await run(['import', file, '--data', restored]);
  expect(stdout).toContain(`Put 1 file back into ${restored}.`);
  const [, words = ''] = /: reins (keys create .*)\n/.exec(stdout) ?? [];
  expect(await run(words.split(' '))).toMatchObject({ code: 0, stderr: expect.stringContaining(restored) });
});

test('the verbs stand in one column, and what they do in another', async () => {
  const lines = (await run(['--help'])).stdout.split('\n').filter((line) => line.startsWith('  '));
  const columns = lines.map((line) => /^ {2}\w+ +/.exec(line)?.[0].length);
  expect(new Set(columns).size).toBe(1);
});

test('D5: beside servers over PostgreSQL a command without the address of that says so, and makes no database in the folder', async () => {
  const shared = temporaryFolder();
  openDataFolder(shared, 'postgresql')[Symbol.dispose]();
  for (const command of [['keys', 'list'], ['serve', '--port', '0'], ['worker']]) {
    const env = { REINS_TEMPORAL_ADDRESS: '127.0.0.1:9' };
    const { code, stderr } = await reins([...command, '--data', shared], { env });
    expect([command, code, stderr]).toEqual([command, 2, expect.stringContaining('set REINS_DATABASE_URL')]);
  }
  expect(readdirSync(shared)).not.toContain('reins.db');
});
