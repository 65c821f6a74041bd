// Starts a server inside a program, runs a task over HTTP, drops the connection, and reads the rest with the cursor.
// Run it with: npx node examples/server-in-process.ts
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer, loadConfig } from '../src/index.ts';

const data = await mkdtemp(join(tmpdir(), 'reins-example-'));
const server = await createServer(loadConfig({ flags: { data, port: '0' }, env: { REINS_API_KEY: 'example-key' } }));
const { url } = await server.listen();
const headers = { Authorization: 'Bearer example-key', 'Content-Type': 'application/json' };
const body = JSON.stringify({ input: 'Count slowly from 1 to 3', stream: true });

const dropped = new AbortController();
const first = await fetch(`${url}/v1/responses`, { method: 'POST', headers, body, signal: dropped.signal });
let seen = '';
for await (const chunk of first.body ?? []) {
  seen += new TextDecoder().decode(chunk);
  if (seen.includes('output_text.delta')) break; // The connection ends here; the task goes on.
}
dropped.abort();

const id = /"id":"(resp_\w+)"/.exec(seen)?.[1] ?? '';
const last = [...seen.matchAll(/^id: (\d+)$/gm)].at(-1)?.[1] ?? '0';
const rest = await fetch(`${url}/v1/responses/${id}?stream=true&starting_after=${last}`, { headers });
console.log(`seen up to event ${last}, then:`);
for (const [, delta] of (await rest.text()).matchAll(/"delta":("(?:[^"\\]|\\.)*")/g)) console.log(delta);

await server.close();
await rm(data, { recursive: true });
