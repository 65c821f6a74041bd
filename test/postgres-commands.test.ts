// Commands beside servers on PostgreSQL: what they look at is the database, and not the file in the data folder.

import { describeWithPostgres, openStore, query } from './support/postgres.ts';
import { expect, test } from 'vitest';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { lookAtStore } from '../src/look-at-store.ts';
import { loadConfig } from '../src/config.ts';
import { createPartsView } from '../src/views/parts-view.ts';
import { logOfAllTypes } from '../src/testing/log-of-all-types.ts';
import { marshalStreamPart } from '../src/protocol/parts/index.ts';
import { openRunFiles } from '../src/run-files.ts';
import { openSqlite } from '../src/stores/sqlite/open-sqlite.ts';
import { reins, temporaryFolder } from './reins-process.ts';
import { schemaVersion } from '../src/stores/postgres/migrations.ts';
import { readFile, writeFile } from 'node:fs/promises';
import { testRunId, testSessionId } from '../src/testing/log-builder.ts';

const placeOf = (url: string, data = temporaryFolder()) =>
  loadConfig({ flags: { data }, env: { REINS_DATABASE_URL: url } });
const onPostgres = /^PostgreSQL \d+\.\d+ of REINS_DATABASE_URL; answers/;

describeWithPostgres('commands beside PostgreSQL', (cluster) => {
  test('E-804: doctor says which store it is, that it answers, and the version of its schema', async () => {
    const url = await (await cluster()).database();
    const told = async () =>
      (({ state, message }) => [state, message.replace(onPostgres, '…')])(await lookAtStore(placeOf(url)));
    expect(await told()).toEqual(['well', `…; its schema is version ${schemaVersion}.`]);
    await query(url, `INSERT INTO schema_versions VALUES (${schemaVersion + 1}, 'x')`);
    expect(await told()).toEqual(['wrong', expect.stringContaining('of a newer Reins')]);
    await query(url, 'TRUNCATE schema_versions');
    expect(await told()).toEqual(['well', expect.stringContaining(`next start brings to ${schemaVersion}.`)]);
  });

  test('doctor makes no tables, and says where a server could not', async () => {
    const url = await (await cluster()).database('template0');
    expect(await lookAtStore(placeOf(url))).toMatchObject({
      state: 'well',
      message: expect.stringMatching(/first start/),
    });
    expect(await query(url, `SELECT 1 FROM pg_tables WHERE schemaname = 'public'`)).toEqual([]);
    await query(url, `CREATE ROLE guest LOGIN PASSWORD 'secret'; REVOKE CREATE ON SCHEMA public FROM public`);
    const found = await lookAtStore(placeOf(url.replace('//reins@', '//guest:secret@')));
    expect(found).toMatchObject({ state: 'wrong', message: expect.stringMatching(/may make no tables/) });
  });

  test.each(['127.0.0.1:1', 'localhost:1', 'nowhere.invalid'])(
    'doctor says why %s cannot be used, and not the password',
    async (host) => {
      const url = `postgres://reins:secret@${host}/reins`;
      const { code, stdout, stderr } = await reins(['doctor', '--data', temporaryFolder()], {
        env: { REINS_DATABASE_URL: url },
      });
      expect(stdout).toMatch(/x database: PostgreSQL of REINS_DATABASE_URL cannot be used: \S.*\.\n/);
      expect([code, (stdout + stderr).includes('secret')]).toEqual([1, false]);
    },
  );

  test('a task is taken from a file into the database and written from it, the same as over SQLite', async () => {
    const [url, data] = [await (await cluster()).database(), temporaryFolder()];
    const view = createPartsView({ envelope: true });
    const parts = logOfAllTypes().flatMap((event) => view.push(event));
    const file = join(data, 'task.jsonl');
    await writeFile(file, parts.map((part) => `${marshalStreamPart(part)}\n`).join(''));
    const o = { env: { REINS_DATABASE_URL: url } };
    const taken = await reins(['import', file, '--json', '--data', data], o);
    expect(JSON.parse(taken.stdout)).toMatchObject({ runs: [{ runId: testRunId, isNew: true }] });
    const out = join(data, 'out.jsonl');
    expect(await reins(['export', testSessionId, '--out', out, '--data', data], o)).toMatchObject({ code: 0 });
    expect(existsSync(join(data, 'reins.db'))).toBe(false);

    const other = temporaryFolder();
    await openSqlite(join(other, 'reins.db'))[Symbol.asyncDispose]();
    await using files = await openRunFiles(loadConfig({ flags: { data: other }, env: {} }));
    await files.keep(await readFile(file, 'utf8'), 'owner');
    let text = '';
    for await (const lines of files.write(testRunId)) text += lines;
    expect(await readFile(out, 'utf8')).toBe(text);
    await using store = await openStore(url);
    expect((await store.run(testRunId))?.sessionId).toBe(testSessionId);
  });

  test('the zip of a whole folder is refused in one sentence, before anything is asked of the database', async () => {
    const data = temporaryFolder();
    const env = { REINS_DATABASE_URL: 'postgres://reins:secret@127.0.0.1:1/reins' };
    const refused = await reins(['export', join(data, 'all.zip'), '--data', data], { env });
    expect(refused).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('use pg_dump') });
    expect([existsSync(join(data, 'all.zip')), refused.stderr.includes('secret')]).toEqual([false, false]);
  });
});
