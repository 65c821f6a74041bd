// `POST /api/agent`: where its turns work.

import { existsSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { asJson, asStream, eventsOf } from './support/agent-call.ts';
import { call, reply, say, text, type Replies } from './support/model.ts';
import { principalFolder, startAgentServer } from './support/agent-server.ts';
import { temporaryFolder } from './support/folders.ts';

const bash = (command: string) => reply(text('Working.'), call('b', 'bash', { command }));
const write = (path: string, content = 'made') => reply(call('w', 'write_file', { path, content }));
const host = { agent: { shell: { kind: 'host' } } };

describe('A-014: where a turn works', () => {
  const replies: Replies = {
    make: [write('a.txt'), say('Made.')],
    read: [reply(call('r', 'read_file', { path: 'a.txt' })), say('Read.')],
    around: [
      reply(
        call('g', 'glob', { pattern: '**/*.txt' }),
        call('u', 'read_file', { path: '../../a.txt' }),
        call('o', 'read_file', { path: '../../../a.txt' }),
        call('s', 'bash', { command: 'basename "$PWD"; ls' }),
      ),
      say('Seen.'),
    ],
  };

  test('in a folder that lasts over turns, and is of one principal alone', async () => {
    const workspace = temporaryFolder();
    await using place = await startAgentServer({ replies, settings: { agent: { workspace } } });
    const made = await place.uhp.send('POST', '/v1/reins/keys', { body: { principal: 'bob' } });
    const bob = { token: String(made.body['key']) };
    expect((await asJson(place.url, { prompt: 'make' })).body).toMatchObject({ cwd: '.' });
    const ok = async (options = {}) => (await asJson(place.url, { prompt: 'read' }, options)).body['toolTrace'];
    expect(await ok()).toMatchObject([{ ok: true }]);
    expect(await ok(bob)).toMatchObject([{ ok: false }]);
    expect(readdirSync(workspace).map((name) => name.replace(/-.*/, ''))).toEqual(['bob', 'owner']);
  });

  const shells = ['auto', 'interpreted', 'host'];
  test.each(shells)(
    'in a directory of it, from which all of it is reached and nothing beside it (%s)',
    async (kind) => {
      await using place = await startAgentServer({ replies, settings: { agent: { shell: { kind } } } });
      await asJson(place.url, { prompt: 'make' });
      expect((await asJson(place.url, { prompt: 'make', cwd: './src//lib/' })).body).toMatchObject({ cwd: 'src/lib' });
      expect(readFileSync(join(principalFolder(place), 'src', 'lib', 'a.txt'), 'utf8')).toBe('made');
      const events = await eventsOf(asStream(place.url, { prompt: 'around', cwd: 'src/lib' }));
      const results = Object.fromEntries(
        events.flatMap((event) => (event.type === 'tool_result' ? [[event.id, [event.ok, event.summary]]] : [])),
      );
      expect(results).toEqual({
        g: [true, 'glob · ✓ ok · a.txt'],
        u: [true, expect.stringContaining('../../a.txt')],
        o: [false, expect.stringContaining('leads out of the workspace')],
        s: [true, expect.stringContaining('stdout 2L')],
      });
      expect(events.at(-1)).toMatchObject({ type: 'done', cwd: 'src/lib' });
    },
  );

  test('a link is no directory of it, whoever made it', async () => {
    await using place = await startAgentServer({ replies });
    await asJson(place.url, { prompt: 'make' });
    symlinkSync('/etc', join(principalFolder(place), 'out'));
    const refused = await asStream(place.url, { prompt: 'read', cwd: 'out' });
    expect([refused.status, await refused.json()]).toEqual([
      400,
      { error: 'Invalid cwd: the path leaves the workspace' },
    ]);
    expect((await asJson(place.url, { prompt: 'read', cwd: 'a.txt' })).status).toBe(400);
  });

  test('a directory that becomes a link while a turn works there leads its tools nowhere', async () => {
    const swapped = {
      swap: [
        bash('mkdir ../d && rmdir ../sub; ln -s /etc ../sub'),
        reply(call('r', 'read_file', { path: 'hostname' })),
        say('x'),
      ],
    };
    await using place = await startAgentServer({ replies: swapped, settings: host });
    const { body } = await asJson(place.url, { prompt: 'swap', cwd: 'sub' });
    expect(existsSync(join(principalFolder(place), 'sub', 'hostname'))).toBe(true);
    expect(body['toolTrace']).toMatchObject([{}, { ok: false, summary: expect.stringContaining('leads out') }]);
  });

  test('the default directory holds where none is given; one that cannot be is ignored with a warning', async () => {
    const warnings: unknown[] = [];
    const logger = {
      debug() {},
      info() {},
      warn: (...said: unknown[]) => void warnings.push(said),
      error() {},
    };
    const cwdWith = async (SANDBOX_DEFAULT_CWD: string, body: object) => {
      await using place = await startAgentServer({
        replies,
        env: { SANDBOX_DEFAULT_CWD, AGENT_REASONING: 'much', OPENAI_COMPATIBLE_API_KEY: 'q7q' },
        logger,
      });
      return (await asJson(place.url, { prompt: 'make', ...body })).body['cwd'];
    };
    expect(await cwdWith('./work', {})).toBe('work');
    expect(await cwdWith('work', { cwd: null })).toBe('work');
    expect(await cwdWith('work', { cwd: 'other' })).toBe('other');
    expect(JSON.stringify(warnings)).not.toContain('defaultCwd');
    expect(await cwdWith('../work', {})).toBe('.');
    expect(JSON.stringify(warnings)).toContain('agent.defaultCwd');
    expect(JSON.stringify(warnings)).toContain('agent.reasoning');
    // named, not shown.
    expect(JSON.stringify(warnings)).toContain('OPENAI_COMPATIBLE_API_KEY');
    expect(JSON.stringify(warnings)).not.toContain('q7q');
  });
});
