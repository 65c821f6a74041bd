import { afterEach, beforeEach, expect, test } from 'vitest';
import { existsSync, mkdtempSync, realpathSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { pluginServer } from './plugin-server.ts';
import { tmpdir } from 'node:os';
import type { PluginServer } from './core/run-config.ts';
import type { Shell } from './engine/shell/shell.ts';

let dataDir: string;
beforeEach(() => (dataDir = realpathSync(mkdtempSync(join(tmpdir(), 'reins-plugin-')))));
afterEach(() => rmSync(dataDir, { recursive: true, force: true }));

const shellOf = (kind: Shell['kind']): Shell => ({
  kind,
  guidance: '',
  describe: () => kind,
  run: () => Promise.reject(new Error('A server is no command of the shell tool.')),
});

function serverOn(
  shell: Shell | null,
  change: Partial<Extract<PluginServer, { transport: 'stdio' }>> = {},
): ReturnType<typeof pluginServer> {
  const server = { name: 's', transport: 'stdio', command: './bin/run', args: [], env: {}, ...change } as const;
  const host = { dataDir, environment: process.env, shell: async () => shell, network: 'none' } as const;
  return pluginServer(host, server, { root: '/package', data: join(dataDir, 'data'), workspace: dataDir });
}

test('UP-51: what is expanded, in one pass, and what is left as it stands', async () => {
  const data = join(dataDir, 'data');
  const server = await serverOn(shellOf('host'), {
    command: './bin/${PLUGIN_ROOT}',
    args: [
      '${PLUGIN_ROOT}/a:${PLUGIN_DATA}',
      '$PLUGIN_ROOT',
      '${plugin_root}',
      '${HOME}',
      '${PLUGIN_${PLUGIN_ROOT}}',
      '$&',
    ],
    env: { OWN: 'x${PLUGIN_DATA}', '${PLUGIN_ROOT}': '1' },
    cwd: '${PLUGIN_DATA}/sub',
  });
  expect(server).toEqual({
    name: 's',
    transport: 'stdio',
    permission: 'allow',
    command: '/package/bin/${PLUGIN_ROOT}',
    args: [`/package/a:${data}`, '$PLUGIN_ROOT', '${plugin_root}', '${HOME}', '${PLUGIN_/package}', '$&'],
    env: { OWN: `x${data}`, '${PLUGIN_ROOT}': '1', PLUGIN_ROOT: '/package', PLUGIN_DATA: data },
    cwd: join(data, 'sub'),
  });
});

test.each([
  [undefined, '/package'],
  ['.', '/package'],
  ['./a/b', '/package/a/b'],
  ['${PLUGIN_ROOT}', '/package'],
])('UP-51: a working directory of %s is %s', async (cwd, expected) => {
  expect((await serverOn(shellOf('host'), cwd === undefined ? {} : { cwd }))?.cwd).toBe(expected);
});

test('UP-52: the folder for its data is there before it starts, for this user alone', async () => {
  await serverOn(shellOf('host'));
  expect(statSync(join(dataDir, 'data')).mode & 0o777).toBe(0o700);
  expect(existsSync('/package')).toBe(false);
});

test('UP-50: a bare name is left to PATH, and no shell has a say', async () => {
  const server = await serverOn(shellOf('host'), { command: 'node', args: ['$(id)', '; id'] });
  expect(server).toMatchObject({ command: 'node', args: ['$(id)', '; id'] });
});

test('UP-50: where nothing keeps a program inside there is none', async () => {
  expect(await serverOn(shellOf('interpreted'))).toBe(null);
  expect(await serverOn(null)).toBe(null);
});
