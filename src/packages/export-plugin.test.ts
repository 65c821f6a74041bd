import fc from 'fast-check';
import { expect, test } from 'vitest';
import { exportPlugin, type ExportedParts } from './export-plugin.ts';
import { readPlugin } from './read-plugin.ts';

const nothing: ExportedParts = { harnessId: 'chrn_x1', harnessName: 'My Harness', mcpServers: [], skills: [] };
const named = (harnessName: string) => exportPlugin({ ...nothing, harnessName }).name;

test.each([
  ['My Harness', 'my-harness'],
  ['  Ünïcode & Co. ', 'n-code-co'],
  ['a...b', 'a.b'],
  ['..a-..-b..', 'a-.-b'],
  ['-.-', 'chrn-x1'],
  ['日本', 'chrn-x1'],
  [`${'a'.repeat(63)}.bc`, 'a'.repeat(63)],
])('UP-41, UD-76: %j is exported as %s', (harnessName, name) => {
  expect(named(harnessName)).toBe(name);
});

test('UD-76: whatever a harness is called, its export is a package that installs', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.stringMatching(/^[a.\- ]{0,70}$/)), (harnessName) => {
      const { files, name } = exportPlugin({ ...nothing, harnessName });
      expect(readPlugin(files).name).toBe(name);
    }),
  );
});

test('UP-40: nothing to export is just a manifest', () => {
  expect(exportPlugin(nothing).files.map(({ path }) => path)).toEqual(['plugin.json']);
});

test('UP-40, UP-42: servers and skills, whole, with what stays behind named', () => {
  const front = (name: string) => `---\nname: ${name}\ndescription: d\n---\n`;
  const server = { name: 'web', url: 'https://x/', transport: 'http' as const, hasSecrets: true };
  const read = exportPlugin({
    ...nothing,
    mcpServers: [server, { ...server, name: 'old', transport: 'sse', hasSecrets: false }],
    skills: [
      {
        name: 'one',
        files: [
          { path: 'SKILL.md', content: front('one') },
          { path: 'a/b.bin', content_b64: 'AAE=' },
        ],
      },
      { name: 'Two', files: [{ path: 'SKILL.md', content: front('two') }] },
    ],
  });
  expect(read.files.map(({ path }) => path)).toEqual([
    'plugin.json',
    'mcp.json',
    'skills/one/SKILL.md',
    'skills/one/a/b.bin',
    'skills/Two/SKILL.md',
  ]);
  expect(read.mcpServers.map(({ name, transport }) => [name, transport])).toEqual([
    ['web', 'http'],
    ['old', 'sse'],
  ]);
  expect(read.skills).toEqual([{ name: 'one', description: 'd' }]);
  // UD-76: exported all the same.
  expect(read.skipped.map(({ path }) => path)).toEqual(['skills/Two', 'mcp.json#/mcpServers/web']);
});
