import { execFileSync } from 'node:child_process';
import { cpSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { findOldNode } from './old-node.ts';
import { reins, root, startReins, temporaryFolder } from './reins-process.ts';

const old = findOldNode();
const title = (law: string) =>
  old === null ? `${law} (skipped: no Node 18 to 23 on this machine)` : `${law} (${old})`;

test.skipIf(old === null)(
  title('an older Node starts the one that came with the package and passes the exit code on'),
  async () => {
    const node = old ?? '';
    expect(await reins(['--version'], { node })).toMatchObject({ code: 0, stderr: '' });
    expect(await reins(['run', ''], { node })).toMatchObject({ code: 2, stderr: expect.stringContaining('empty') });
  },
);

test.skipIf(old === null)(title('an older Node reaches a prompt that is piped in'), async () => {
  // A blank prompt is refused only after it was read.
  expect(await reins(['run', '-'], { node: old ?? '', input: ' \n' })).toMatchObject({ code: 2 });
});

test.skipIf(old === null)(title('without any usable Node it says so in one sentence and ends with 2'), async () => {
  const lone = join(temporaryFolder(), 'bin');
  cpSync(join(root, 'bin'), lone, { recursive: true });
  cpSync(join(root, 'package.json'), join(dirname(lone), 'package.json'));
  const run = () => execFileSync(old ?? '', [join(lone, 'reins.js')], { stdio: 'pipe', encoding: 'utf8' });
  expect(run).toThrow(
    expect.objectContaining({ status: 2, stderr: expect.stringMatching(/^reins: Node 24 [^\n]*\n$/) }),
  );
});

test('in a clone without its packages the one sentence says what to run', async () => {
  const clone = temporaryFolder();
  for (const part of ['bin', 'package.json', 'src/cli/main.ts'])
    cpSync(join(root, part), join(clone, part), { recursive: true });
  const run = (node: string) => () =>
    execFileSync(node, [join(clone, 'bin/reins.js')], { stdio: 'pipe', encoding: 'utf8' });
  for (const node of [process.execPath, old ?? process.execPath])
    expect(run(node)).toThrow(
      expect.objectContaining({ status: 2, stderr: expect.stringMatching(/^reins: [^\n]*npm ci[^\n]*\n$/) }),
    );
});

test.skipIf(old === null)(
  title('a server never outlives the command that started it, killed by force included'),
  async () => {
    const server = startReins(['serve', '--port', '0', '--data', temporaryFolder()], { node: old ?? '' });
    await server.saw('reins listening on http://');
    server.child.kill('SIGKILL');
    // Its output closes only when the server has ended, too.
    expect(await server.ended).toMatchObject({ signal: 'SIGKILL', stderr: expect.stringContaining('stopping') });
  },
);

test.skipIf(old === null)(
  title('a stop signal to the older Node reaches the server once, which drains and ends with 0'),
  async () => {
    const server = startReins(['serve', '--port', '0', '--data', temporaryFolder()], { node: old ?? '' });
    await server.saw('reins listening on http://');
    server.child.kill('SIGTERM');
    expect(await server.ended).toMatchObject({ code: 0, signal: null });
  },
);
