import { chmodSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { inspect } from './inspect.ts';
import { loadConfig } from './config.ts';
import { openSqlite } from './stores/sqlite/open-sqlite.ts';
import { schemaVersion } from './stores/sqlite/migrations.ts';

async function look(o: { readonly settings?: object; readonly prepare?: (dataDir: string) => void; port?: number }) {
  const dataDir = mkdtempSync(join(tmpdir(), 'reins-doctor-'));
  writeFileSync(join(dataDir, 'config.json'), JSON.stringify(o.settings ?? {}));
  o.prepare?.(dataDir);
  const { findings } = await inspect(loadConfig({ flags: { data: dataDir, port: String(o.port ?? 0) }, env: {} }));
  return new Map(findings.map(({ what, ...finding }) => [what, finding]));
}

test('where nothing is wrong, nothing is said to be', async () => {
  const findings = await look({
    prepare: (dataDir) => void openSqlite(join(dataDir, 'reins.db'))[Symbol.asyncDispose](),
  });
  expect(findings.get('database')).toEqual({
    state: 'well',
    message: `SQLite; passes its check; its schema is version ${schemaVersion}.`,
  });
  expect([...findings.values()].filter(({ state }) => state === 'wrong')).toEqual([]);
});

test('a database that is not there yet, and one that a server left empty, are made at the start', async () => {
  for (const prepare of [() => {}, (dataDir: string) => writeFileSync(join(dataDir, 'reins.db'), '')])
    expect((await look({ prepare })).get('database')).toEqual({
      state: 'well',
      message: 'SQLite; is made at the first start.',
    });
});

test('a damaged database is found without being touched', async () => {
  const findings = await look({ prepare: (dataDir) => writeFileSync(join(dataDir, 'reins.db'), 'x'.repeat(9_000)) });
  expect(findings.get('database')).toMatchObject({ state: 'wrong', message: expect.stringContaining('reins import') });
});

test.skipIf(process.getuid?.() === 0)('a folder that cannot be written is wrong', async () => {
  const findings = await look({ prepare: (dataDir) => chmodSync(dataDir, 0o500) });
  expect(findings.get('data folder')).toMatchObject({ state: 'wrong' });
});

test('an address that another program has is named; one that a server of this folder has is well', async () => {
  const other = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => other.once('listening', resolve));
  const address = other.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  expect((await look({ port })).get('address')).toMatchObject({ state: 'beware' });
  const prepare = (dataDir: string) => writeFileSync(join(dataDir, 'server.url'), `http://127.0.0.1:${port}\n`);
  expect((await look({ port, prepare })).get('address')).toMatchObject({ state: 'well' });
  other.close();
});

test('programs and files that the settings name and that are not there are wrong', async () => {
  const findings = await look({
    settings: {
      server: { tls: { certFile: 'none.pem', keyFile: 'none.key' } },
      files: { converter: '/nowhere/soffice' },
      agent: { mcp: [{ name: 'tickets', transport: 'stdio', command: 'no-such-program-here' }] },
    },
    prepare: (dataDir) => mkdirSync(join(dataDir, 'sessions')),
  });
  for (const what of ['TLS', 'files.converter', 'MCP server tickets'])
    expect(findings.get(what), what).toMatchObject({ state: 'wrong' });
});

test('links without TLS beyond this machine are warned of', async () => {
  const findings = await look({ settings: { server: { publicUrl: 'http://agents.example' } } });
  expect(findings.get('links')).toMatchObject({ state: 'beware' });
});
