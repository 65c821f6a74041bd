import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readPlugin } from './read-plugin.ts';
import { RequestError } from '../core/errors.ts';
import type { BundleFile } from '../stores/harness-record.ts';

const schema = 'https://agent-plugins.org/schemas/1.0.0/plugin.schema.json';
const serversSchema = 'https://agent-plugins.org/schemas/1.0.0/mcp.schema.json';
const manifest = { $schema: schema, name: 'contract-review' };

const json = (path: string, value: unknown): BundleFile => ({ path, content: JSON.stringify(value) });
const readWith = (...files: readonly BundleFile[]) => readPlugin([json('plugin.json', manifest), ...files]);
const readManifest = (value: unknown) => readPlugin([json('plugin.json', value)]);
const invalid = (reason: RegExp) =>
  expect.objectContaining({
    status: 422,
    code: 'plugin_invalid',
    detail: { path: 'plugin.json', reason: expect.stringMatching(reason) },
  });

describe('manifest', () => {
  test('UP-20: it is there, JSON and an object, or there is no plugin', () => {
    expect(() => readPlugin([])).toThrow(invalid(/no plugin\.json/));
    expect(() => readPlugin([{ path: 'sub/plugin.json', content: '{}' }])).toThrow(invalid(/no plugin\.json/));
    expect(() => readPlugin([{ path: 'plugin.json', content: '{' }])).toThrow(invalid(/JSON/));
    expect(() => readPlugin([{ path: 'plugin.json', content_b64: '/w==' }])).toThrow(invalid(/JSON/));
    expect(() => readManifest([])).toThrow(invalid(/object/));
    expect(() => readManifest({ ...manifest, version: 'x'.repeat(300_000) })).toThrow(invalid(/longer/));
  });

  test('UP-21: a schema that is missing makes it invalid, one that is not known is named as that', () => {
    expect(() => readManifest({ name: 'x' })).toThrow(invalid(/\$schema/));
    expect(() => readManifest({ ...manifest, $schema: 1 })).toThrow(invalid(/\$schema/));
    expect(() => readManifest({ ...manifest, $schema: schema.replace('1.0.0', '2.0.0') })).toThrow(
      expect.objectContaining({ code: 'unsupported_plugin_schema', detail: { supported: [schema] } }),
    );
  });

  test('UP-22, UP-24: fields that it does not have are carried and named, not refused', () => {
    const more = { ...manifest, 'vendor/field': 1, extensions: 'x' };
    const { skipped, manifest: read } = readManifest(more);
    expect(read).toEqual(more);
    expect(skipped).toEqual([
      { path: 'plugin.json#/vendor~1field', reason: 'A manifest has no such field.' },
      { path: 'plugin.json#/extensions', reason: 'It must be an object.' },
    ]);
    expect(readManifest({ ...manifest, extensions: { 'com.example': [1] } }).skipped).toEqual([]);
  });

  test.each<object>([
    { name: undefined },
    { name: 'Upper' },
    { name: 'a--b' },
    { name: 'a..b' },
    { name: '-a' },
    { name: 'a.' },
    { name: '' },
    { name: 'a'.repeat(65) },
    { version: 1 },
    { description: null },
    { author: 'me' },
    { author: { name: 1 } },
    { author: { name: 'me', phone: '1' } },
    { keywords: 'x' },
    { keywords: ['x', 1] },
  ])('UP-23: %j is no manifest', (change) => {
    expect(() => readManifest({ ...manifest, ...change })).toThrow(invalid(/^In the manifest, '[a-z.0-9]+' .*\.$/));
  });

  test('UP-23: contents are not judged', () => {
    const odd = { version: 'one', homepage: 'no url', license: '?', author: {}, keywords: [], repository: '' };
    expect(readManifest({ ...manifest, ...odd }).name).toBe('contract-review');
  });

  test('what is nested without end can still be written out', () => {
    const deep = `{"$schema":"${schema}","name":"x","extensions":{"a":${'['.repeat(50_000)}${']'.repeat(50_000)}}}`;
    const read = readPlugin([{ path: 'plugin.json', content: deep }]);
    expect(JSON.stringify(read.manifest)).toContain('[too deep]');
  });
});

describe('servers', () => {
  const servers = (mcpServers: unknown, more: object = {}) =>
    readWith(json('mcp.json', { $schema: serversSchema, mcpServers, ...more }));
  const one = (server: object) => servers({ one: server });

  test('UP-31, UP-34: each type becomes its transport, placeholders as they are', () => {
    const { mcpServers, skipped } = servers({
      http: { type: 'streamable-http', url: 'https://mcp.example/', headers: { 'X-Key': '${PLUGIN_DATA}' } },
      old: { type: 'sse', url: 'http://127.0.0.1:9/' },
      local: {
        type: 'stdio',
        command: './bin/run',
        args: ['${PLUGIN_DATA}'],
        env: { A: 'b' },
        cwd: '${PLUGIN_ROOT}/x',
      },
      bare: { type: 'stdio', command: 'node' },
    });
    expect(skipped).toEqual([]);
    expect(mcpServers).toEqual([
      { name: 'http', transport: 'http', url: 'https://mcp.example/', headers: { 'X-Key': '${PLUGIN_DATA}' } },
      { name: 'old', transport: 'sse', url: 'http://127.0.0.1:9/', headers: {} },
      {
        name: 'local',
        transport: 'stdio',
        command: './bin/run',
        args: ['${PLUGIN_DATA}'],
        env: { A: 'b' },
        cwd: '${PLUGIN_ROOT}/x',
      },
      { name: 'bare', transport: 'stdio', command: 'node', args: [], env: {} },
    ]);
  });

  test('UP-30: what is wrong with the file itself takes all of its servers, and nothing else', () => {
    const skill = { path: 'skills/s/SKILL.md', content: '---\nname: s\ndescription: d\n---\n' };
    const server = { one: { type: 'sse', url: 'https://x/' } };
    for (const file of [
      json('mcp.json', { mcpServers: server }),
      json('mcp.json', { $schema: schema, mcpServers: server }),
      json('mcp.json', { $schema: serversSchema, mcpServers: [] }),
      json('mcp.json', { $schema: serversSchema, mcpServers: server, extra: 1 }),
      json('mcp.json', 7),
      { path: 'mcp.json', content: 'x' },
    ]) {
      const read = readWith(file, skill);
      expect(read.mcpServers).toEqual([]);
      expect(read.skipped).toEqual([{ path: 'mcp.json', reason: expect.stringMatching(/\.$/) }]);
      expect(read.skills).toEqual([{ name: 's', description: 'd' }]);
    }
    expect(readWith()).toMatchObject({ mcpServers: [], skipped: [] });
  });

  test('UP-31, P-07: an entry that is wrong is skipped, the others load', () => {
    const { mcpServers, skipped } = servers({
      'a/b': { type: 'carrier-pigeon' },
      ok: { type: 'sse', url: 'https://x/' },
    });
    expect(mcpServers.map(({ name }) => name)).toEqual(['ok']);
    expect(skipped).toEqual([
      { path: 'mcp.json#/mcpServers/a~1b', reason: 'Its type is not stdio, streamable-http or sse.' },
    ]);
  });

  test.each<[object, RegExp]>([
    [{ type: 'stdio' }, /command/],
    [{ type: 'stdio', command: '' }, /command/],
    [{ type: 'stdio', command: 'a b' }, /command/],
    [{ type: 'stdio', command: '/bin/sh' }, /command/],
    [{ type: 'stdio', command: 'bin/sh' }, /command/],
    [{ type: 'stdio', command: './../sh' }, /command/],
    [{ type: 'stdio', command: '${PLUGIN_ROOT}/sh' }, /command/],
    [{ type: 'stdio', command: 'x', url: 'https://x/' }, /field/],
    [{ type: 'stdio', command: 'x', args: 'y' }, /args/],
    [{ type: 'stdio', command: 'x', args: ['\0'] }, /NUL/],
    [{ type: 'stdio', command: 'x', env: { PLUGIN_ROOT: '/' } }, /PLUGIN_ROOT/],
    [{ type: 'stdio', command: 'x', env: { 'A=B': '/' } }, /variable/],
    [{ type: 'stdio', command: 'x', env: null }, /env/],
    [{ type: 'stdio', command: 'x', cwd: '/' }, /cwd/],
    [{ type: 'stdio', command: 'x', cwd: '.' }, /cwd/],
    [{ type: 'stdio', command: 'x', cwd: './..' }, /cwd/],
    [{ type: 'stdio', command: 'x', cwd: '${PLUGIN_DATA}/../x' }, /cwd/],
    [{ type: 'stdio', command: 'x', cwd: '${PLUGIN_DATA}x' }, /cwd/],
    [{ type: 'stdio', command: 'x', cwd: '${HOME}/x' }, /cwd/],
    [{ type: 'sse' }, /url/],
    [{ type: 'sse', url: 'x' }, /absolute/],
    [{ type: 'sse', url: 'ftp://x/' }, /absolute/],
    [{ type: 'sse', url: 'https://x/ y' }, /absolute/],
    [{ type: 'sse', url: 'https://me:pw@x/' }, /credentials/],
    [{ type: 'sse', url: 'https://x/#f' }, /fragment/],
    [{ type: 'sse', url: 'https://x/#' }, /fragment/],
    [{ type: 'sse', url: 'http://x/' }, /plain http/],
    [{ type: 'sse', url: 'http://127.0.0.1.example/' }, /plain http/],
    [{ type: 'sse', url: 'https://x/', headers: { 'a b': 'c' } }, /header/],
    [{ type: 'sse', url: 'https://x/', headers: { A: 'c\nd' } }, /header/],
    [{ type: 'sse', url: 'https://x/', headers: { A: '1', a: '2' } }, /same name/],
    [{ type: 'streamable-http', url: 'https://x/', command: 'x' }, /field/],
  ])('UP-32, UP-33: %j is skipped', (server, reason) => {
    const { mcpServers, skipped } = one(server);
    expect(mcpServers).toEqual([]);
    expect(skipped).toEqual([{ path: 'mcp.json#/mcpServers/one', reason: expect.stringMatching(reason) }]);
    expect(skipped[0]?.reason).toMatch(/^[A-Z][^\n]*\.$/);
  });

  test.each(['http://localhost:1/', 'http://127.9.9.9/', 'http://[::1]:1/', 'https://10.0.0.1/'])(
    'UP-32: %s can be reached',
    (url) => {
      expect(one({ type: 'sse', url }).skipped).toEqual([]);
    },
  );

  test.each(['./', './x', '${PLUGIN_ROOT}', '${PLUGIN_DATA}/a/b/'])('UP-33: a server may work in %s', (cwd) => {
    expect(one({ type: 'stdio', command: 'x', cwd }).skipped).toEqual([]);
  });
});

describe('skills', () => {
  const skill = (text: string, folder = 'one') => readWith({ path: `skills/${folder}/SKILL.md`, content: text });
  const head = (fields: string) => `---\n${fields}\n---\nText.\n`;

  test('UP-36: the folders directly in skills that hold a SKILL.md, no others', () => {
    const text = (name: string) => head(`name: ${name}\ndescription: "Does: things"\nmetadata: {a: b}\nother: 1`);
    const { skills, skipped } = readWith(
      { path: 'skills/one/SKILL.md', content: text('one') },
      {
        path: 'skills/two/SKILL.md',
        content_b64: Buffer.from(text('two').replaceAll('\n', '\r\n')).toString('base64'),
      },
      { path: 'skills/deep/er/SKILL.md', content: text('er') },
      { path: 'skills/none/notes.md', content: 'x' },
      { path: 'skills/SKILL.md', content: text('skills') },
      { path: 'other/x/SKILL.md', content: text('x') },
    );
    expect(skills).toEqual([
      { name: 'one', description: 'Does: things' },
      { name: 'two', description: 'Does: things' },
    ]);
    expect(skipped).toEqual([]);
  });

  test.each([
    ['no front matter', 'Text.'],
    ['no end of it', '---\nname: one\ndescription: d\n'],
    ['no YAML', head('name: [')],
    ['no map', head('- name')],
    ['another name than the folder', head('name: two\ndescription: d')],
    ['no name', head('description: d')],
    ['no description', head('name: one')],
    ['an empty description', head('name: one\ndescription: " "')],
    ['a long description', head(`name: one\ndescription: ${'x'.repeat(1025)}`)],
    ['a long compatibility', head(`name: one\ndescription: d\ncompatibility: ${'x'.repeat(501)}`)],
    ['a license of a wrong type', head('name: one\ndescription: d\nlicense: [1]')],
    ['aliases without end', head(`name: one\ndescription: d\n${bomb()}`)],
  ])('UP-36: %s: skipped, with a reason', (_, text) => {
    const { skills, skipped } = skill(text);
    expect(skills).toEqual([]);
    expect(skipped).toEqual([{ path: 'skills/one', reason: expect.stringMatching(/^[A-Z][^\n]*\.$/) }]);
  });

  test.each(['Upper', 'a--b', '-a', 'a-', 'a_b', 'a'.repeat(65)])('UP-36: %s is no name of a skill', (name) => {
    expect(skill(head(`name: ${name}\ndescription: d`), name).skipped).toHaveLength(1);
  });
});

test('any package is read, or refused as a request: no other error ever leaves', () => {
  const path = fc.oneof(
    fc.constantFrom('plugin.json', 'mcp.json', 'skills/a/SKILL.md', 'skills/b/SKILL.md'),
    fc.string(),
  );
  const server = fc.record(
    { type: fc.oneof(fc.constantFrom('stdio', 'sse', 'streamable-http'), fc.jsonValue()), url: fc.webUrl() },
    { requiredKeys: [] },
  );
  const text = fc.oneof(
    fc.string(),
    fc.json(),
    fc
      .record({ $schema: fc.constant(schema), name: fc.oneof(fc.constant('x'), fc.string()) })
      .map((x) => JSON.stringify(x)),
    fc
      .record({
        $schema: fc.constant(serversSchema),
        mcpServers: fc.dictionary(fc.string(), fc.oneof(server, fc.jsonValue())),
      })
      .map((x) => JSON.stringify(x)),
    fc.string().map((yaml) => `---\n${yaml}\n---\n`),
  );
  const file = fc.oneof(
    fc.record({ path, content: text }),
    fc.record({ path, content_b64: text.map((each) => Buffer.from(each, 'latin1').toString('base64')) }),
  );
  fc.assert(
    fc.property(fc.array(file, { maxLength: 6 }), (files) => {
      try {
        const read = readPlugin(files);
        expect(() => JSON.stringify(read)).not.toThrow();
        for (const { reason } of read.skipped) expect(reason).toMatch(/^[A-Z][^\n]*\.$/);
      } catch (error) {
        expect(error).toBeInstanceOf(RequestError);
      }
    }),
    { numRuns: 500 },
  );
});

function bomb(): string {
  const levels = Array.from({ length: 9 }, (_, index) =>
    index === 0 ? 'a0: &a0 [x, x, x, x, x]' : `a${index}: &a${index} [${`*a${index - 1}, `.repeat(9)}x]`,
  );
  return levels.join('\n');
}
