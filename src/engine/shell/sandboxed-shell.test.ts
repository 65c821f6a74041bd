import { createServer } from 'node:net';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { setTimeout as pause } from 'node:timers/promises';
import { spawn } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { bubblewrapArguments } from './bubblewrap.ts';
import { chooseShell } from './choose-shell.ts';
import { systemClock, systemRandom } from '../../system.ts';
import type { ShellParts } from './shell.ts';

// Not below /tmp, which a sandbox has of its own: what is not seen there need not be hidden.
const base = mkdtempSync(join(realpathSync(existsSync('/var/tmp') ? '/var/tmp' : tmpdir()), 'reins-sandbox-'));
const at = (...path: string[]) => join(base, ...path);
function write(path: string, content: string): void {
  mkdirSync(dirname(at(path)), { recursive: true });
  writeFileSync(at(path), content);
}
const parts = (own: Partial<ShellParts> = {}): ShellParts => ({
  clock: systemClock,
  random: systemRandom,
  environment: { ...process.env, HOME: at('home') },
  marker: systemRandom.token(),
  network: 'full',
  hidden: [at('home/data/workspaces'), at('home/data')],
  ...own,
});

const trial = await chooseShell('sandboxed', parts()).catch((error: unknown) => error);
const why = trial instanceof Error ? ` (skipped: ${trial.message})` : '';

beforeAll(() => {
  write('home/data/key', 'SECRET key');
  write('home/data/workspaces/mine/a.txt', 'mine');
  write('home/data/workspaces/other/b.txt', 'SECRET other');
  write('home/.ssh/id_ed25519', 'SECRET ssh');
  write('home/.aws/credentials', 'SECRET aws');
  write('home/.env.production', 'SECRET env');
  write('home/.netrc', 'SECRET netrc');
  write('home/my-secrets.json', 'SECRET mine');
  write('elsewhere/gnupg/key', 'SECRET gnupg');
  symlinkSync(at('elsewhere/gnupg'), at('home/.gnupg'));
  write('home/project/readme', 'open to read');
});
afterAll(() => rmSync(base, { recursive: true, force: true }));

async function run(command: string, own: Partial<ShellParts> = {}, workspace = at('home/data/workspaces/mine')) {
  const shell = await chooseShell('sandboxed', parts(own));
  if (shell === null) throw new Error('no shell');
  let output = '';
  const onOutput = (chunk: Uint8Array) => void (output += Buffer.from(chunk).toString());
  const { end } = await shell.run(command, {
    workspace,
    signal: new AbortController().signal,
    timeoutMs: 20_000,
    onOutput,
  });
  return { output, end };
}

test('a workspace that is the whole file system is refused: nothing could be kept from it', () => {
  expect(() => bubblewrapArguments({ workspace: '/', hidden: [], network: 'full' })).toThrow('The whole file system');
});

describe.skipIf(why !== '')(`sandboxed${why}`, () => {
  test('B1: the workspace is written, /tmp is the command’s own, everything else is read-only', async () => {
    const { output } = await run(
      `echo new > made; echo t > /tmp/t && cat /tmp/t; cat ../../../project/readme; echo
       for place in ../beside ../../beside ~/x ~/project/x /etc/x /var/tmp/x; do echo x > $place && echo "wrote $place"; done 2>/dev/null
       mount -o remount,rw / 2>/dev/null && echo remounted; true`,
    );
    expect(output).toBe('t\nopen to read\n');
    expect(readFileSync(at('home/data/workspaces/mine/made'), 'utf8')).toBe('new\n');
    expect(existsSync('/tmp/t')).toBe(false);
    expect(readdirSync(at('home/data/workspaces')).toSorted()).toEqual(['mine', 'other']);
    expect(readdirSync(at('home/project'))).toEqual(['readme']);
  });

  test('B2: the data folder, other workspaces and the credentials of the home are not seen, through links neither', async () => {
    const { output } = await run(
      `cat a.txt; ls ~/data/workspaces ~/.ssh; find ${base} -type f -print0 | xargs -0 grep -l SECRET
       cat ~/.env.production ~/.netrc ~/my-secrets.json ~/.gnupg/key ~/.aws/credentials ${at('elsewhere/gnupg/key')} 2>/dev/null
       ln -s ~/data/key link; cat link 2>/dev/null; umount ~/.ssh ~/data 2>/dev/null && echo revealed
       unshare -Urm umount ~/.ssh 2>/dev/null && echo revealed; true`,
    );
    expect(output).toBe(`mine${at('home/.ssh')}:\n\n${at('home/data/workspaces')}:\nmine\n`);
  });

  test('B2: what is hidden stays so in a workspace that holds it', async () => {
    const { output } = await run(
      'cat .ssh/id_ed25519 data/key .netrc 2>/dev/null; echo x > data/x; cat project/readme',
      {},
      at('home'),
    );
    expect(output).toMatch(/^bash: .*Read-only file system\nopen to read$/);
    expect(existsSync(at('home/data/x'))).toBe(false);
  });

  test('B2: a file that is hidden reads as empty, so that programs which look for it go on', async () => {
    expect(await run('cat ~/.netrc && echo read')).toEqual({ output: 'read\n', end: { how: 'exited', code: 0 } });
  });

  test('B3: sockets of services in /run are not there', async () => {
    expect((await run('find /run -type s; ls /var/run/docker.sock 2>/dev/null; true')).output).toBe('');
  });

  test('B4: no process outside is seen, and this server is not to be signalled', async () => {
    const { output } = await run(
      `ls -d /proc/[0-9]* | wc -l
       { tr '\\0' ' ' < /proc/${process.pid}/environ; kill -0 ${process.pid} && echo reached; } 2>/dev/null; true`,
    );
    expect(Number(output)).toBeLessThan(10);
  });

  test('B4, B139: a server that is killed with -9 takes its commands with it, also those that cleared their environment', async () => {
    const seconds = `${1000 + Math.random() * 1000}`;
    const url = (file: string) => JSON.stringify(new URL(file, import.meta.url).href);
    const program = `import { chooseShell } from ${url('./choose-shell.ts')};
      import { systemClock as clock, systemRandom as random } from ${url('../../system.ts')};
      const shell = await chooseShell('sandboxed', { clock, random, environment: process.env, marker: 'm', network: 'none', hidden: [] });
      await shell.run('(env -i setsid sleep ${seconds} &); sleep ${seconds}', { workspace: ${JSON.stringify(at('home/project'))}, signal: new AbortController().signal, timeoutMs: 60_000, onOutput() {} });`;
    const server = spawn(process.execPath, ['--input-type=module', '--eval', program], {
      stdio: 'ignore',
      cwd: dirname(fileURLToPath(import.meta.url)),
    });
    const sleeping = () =>
      readdirSync('/proc').filter((name) => /^\d+$/.test(name) && cmdline(name).startsWith(`sleep\0${seconds}`));
    while (sleeping().length < 2) await pause(10);
    server.kill('SIGKILL');
    while (sleeping().length > 0) await pause(10);
  });

  test('B5: nothing of root is left, also when the server is root', async () => {
    const { output } = await run(
      'grep -E "Cap(Prm|Eff|Bnd)|NoNewPrivs" /proc/self/status; cat /etc/shadow 2>/dev/null',
    );
    expect(output).toMatch(/^CapPrm:\t0+\nCapEff:\t0+\nCapBnd:\t0+\nNoNewPrivs:\t1\n$/);
  });

  test('the network is as the setting says', async () => {
    await using server = createServer((socket) => socket.end('reached\n'));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    const port = typeof address === 'object' ? address?.port : 0;
    const command = `{ cat < /dev/tcp/127.0.0.1/${port}; } 2>/dev/null || echo none`;
    expect((await run(command)).output).toBe('reached\n');
    expect((await run(command, { network: 'none' })).output).toBe('none\n');
  });

  test('its description says what it keeps, for the model and for the operator', async () => {
    const shell = await chooseShell('sandboxed', parts({ network: 'none' }));
    expect(shell?.describe()).toMatch(/^sandboxed: bash in \/.*bwrap; .*no network$/);
    expect(shell?.guidance).toContain('There is no network.');
  });
});

function cmdline(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'latin1');
  } catch {
    return '';
  }
}
