import {
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createInterpretedShell } from './interpreted-shell.ts';
import { systemClock, systemRandom } from '../../system.ts';
import type { ShellParts, ShellRun } from './shell.ts';

let base: string;
let workspace: string;
beforeEach(() => {
  base = mkdtempSync(join(realpathSync(tmpdir()), 'reins-interpreted-'));
  workspace = join(base, 'workspace');
  mkdirSync(workspace);
  writeFileSync(join(base, 'secret'), 'SECRET');
});
afterEach(() => rmSync(base, { recursive: true, force: true }));

async function run(command: string, own: Partial<ShellParts> = {}, options: Partial<ShellRun> = {}) {
  const parts = {
    clock: systemClock,
    random: systemRandom,
    environment: process.env,
    marker: 'm',
    network: 'none',
    hidden: [],
  } as const;
  let output = '';
  const onOutput = (chunk: Uint8Array) => void (output += Buffer.from(chunk).toString());
  const result = await createInterpretedShell({ ...parts, ...own }, null).run(command, {
    workspace,
    signal: new AbortController().signal,
    timeoutMs: 25_000,
    onOutput,
    ...options,
  });
  return { output, end: result.end, rest: [...result.leftBehind, ...result.unstopped] };
}

test('files of the workspace are really read and written, by the paths they have on this machine', async () => {
  writeFileSync(join(workspace, 'in.txt'), 'b\u00e9\na\n');
  const { output, end } = await run(
    `pwd; sort in.txt > out.txt; cat ${workspace}/out.txt; echo /w== | base64 -d > raw; mkdir -p d/e; exit 4`,
  );
  expect(output).toBe(`${workspace}\na\nb\u00e9\n`);
  expect(end).toEqual({ how: 'exited', code: 4 });
  expect(readFileSync(join(workspace, 'out.txt'), 'utf8')).toBe('a\nb\u00e9\n');
  expect([...readFileSync(join(workspace, 'raw'))]).toEqual([0xff]);
  expect(existsSync(join(workspace, 'd/e'))).toBe(true);
});

test('here-documents keep their white space; stdout and stderr both come', async () => {
  expect((await run(`cat <<END\n  indented\nEND\necho oops >&2`)).output).toBe('  indented\noops\n');
});

test('nothing outside is reached, by paths or through links that lead there', async () => {
  symlinkSync(join(base, 'secret'), join(workspace, 'file'));
  symlinkSync('..', join(workspace, 'folder'));
  const { output } = await run(
    `cat ${base}/secret ../secret /etc/passwd /proc/self/environ file folder/secret
     cd folder && cat secret; grep -r SECRET .; find / -name secret
     cp file copy; cp -r folder copies; tar cf all.tar .; mv file moved; cat copy copies/secret moved
     ln -s ${base}/secret made; cat made; ln ${base}/secret hard; cat hard
     rm -rf folder/secret; echo x > ../new; tee ${base}/new < /dev/null; echo done`,
  );
  expect(output).not.toContain('SECRET');
  expect(output).toContain('done');
  // A write through a link ends the command: the interpreter does not expect to be refused one.
  for (const target of ['file', 'folder/new'])
    expect((await run(`echo x >> ${target}`)).output).toMatch(/^bash: EACCES.* outside sandbox\n$/);
  expect(readFileSync(join(base, 'secret'), 'utf8')).toBe('SECRET');
  expect(existsSync(join(base, 'new'))).toBe(false);
});

test('a hard link is not written through', async () => {
  linkSync(join(base, 'secret'), join(workspace, 'hard'));
  await run('echo more >> hard; chmod 777 hard');
  expect(readFileSync(join(base, 'secret'), 'utf8')).toBe('SECRET');
});

test('Node’s own permissions are on: a command that would need a worker is refused one', async () => {
  expect((await run('sqlite3 :memory: "select 1"')).output).toContain('restricted');
});

test('it has none of our variables, and /tmp and the home are made of memory', async () => {
  const { output } = await run(
    'env; echo x > ~/kept; cat /tmp/kept',
    { environment: { ...process.env, OPENAI_API_KEY: 'sk-secret' } },
    { env: { GIVEN: 'yes' } },
  );
  expect(output).toContain('GIVEN=yes');
  expect(output).toMatch(/x\n$/);
  expect(output).not.toMatch(/sk-secret|OPENAI|REINS/);
});

test('there are no programs of the machine', async () => {
  expect(await run('git status')).toMatchObject({
    output: 'bash: git: command not found\n',
    end: { how: 'exited', code: 127 },
  });
});

test('a faulty command is its own end, in a sentence', async () => {
  const { output, end } = await run('if then');
  expect(end).toMatchObject({ how: 'exited' });
  expect(output).toMatch(/^bash: .*\n$/);
  expect(output.length).toBeLessThan(300);
});

test('an endless command blocks nobody and ends at once when it is stopped, or at its limit', async () => {
  const stop = new AbortController();
  let ticks = 0;
  const ticking = setInterval(() => ++ticks, 10);
  setTimeout(() => stop.abort(), 1_000);
  const endless = await run('while true; do sleep 0.01; done', {}, { signal: stop.signal });
  clearInterval(ticking);
  expect([endless.end, endless.rest]).toEqual([{ how: 'cancelled' }, []]);
  expect(ticks).toBeGreaterThan(20);
  expect((await run('sleep 1000', {}, { timeoutMs: 500 })).end).toEqual({ how: 'timed-out' });
});

test('memory without end is the end of the command alone', async () => {
  const { end } = await run(
    `awk 'BEGIN{s="0123456789"; for(i=0;i<20;i++) s=s s; for(i=0;i<2000;i++) a[i]=toupper(s "x" i)}'`,
  );
  expect(end).toEqual({ how: 'signalled', signal: 'SIGABRT' });
});

test('the network is as the setting says', async () => {
  await using server = createServer((_, response) => response.end('reached'));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const command = `curl -s http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}/`;
  expect((await run(command, { network: 'full' })).output).toBe('reached');
  expect((await run(command)).output).toBe('bash: curl: command not found\n');
});
