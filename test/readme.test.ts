// The programs of README.md run as they are printed there, against a server with the demo model.

import { afterAll, beforeAll, expect, test } from 'vitest';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { readFileSync } from 'node:fs';
import { ownerKey, startServer, type RunningServer } from './support/in-process-server.ts';

const programs = [...readFileSync('README.md', 'utf8').matchAll(/^```js\n(.*?)^```$/gms)].map(([, code = '']) => code);

let server: RunningServer;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.close());

async function play(named: string): Promise<string> {
  const program = programs.find((each) => each.includes(named)) ?? 'throw new Error("It is not there.")';
  const code = program.replace('http://127.0.0.1:4242', server.url).replace('YOUR-KEY', ownerKey);
  const env = { ...process.env, REINS_API_KEY: ownerKey };
  return (await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', code], { env })).stdout;
}

test('the fetch of a browser shows the numbers one by one', async () => {
  const lines = (await play('await fetch(')).split('\n').map((line) => line.trim());
  expect(lines.filter((line) => line !== '')).toEqual(Array.from({ length: 20 }, (_, index) => String(index + 1)));
});

test("OpenAI's client for Node shows the answer", async () => {
  expect(await play("from 'openai'")).toBe('hello');
});

test('every program of it is played', () => {
  expect(programs).toHaveLength(2);
});
