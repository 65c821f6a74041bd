// A task is started by one client and read to its end by another, which goes on where the first one was. The network breaks in
// between. The same code runs in a browser.
// Run it with: npx node examples/client-resume.ts
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from '../src/client/index.ts';
import { createServer, loadConfig } from '../src/index.ts';

const data = await mkdtemp(join(tmpdir(), 'reins-example-'));
const server = await createServer(loadConfig({ flags: { data, port: '0' }, env: { REINS_API_KEY: 'example-key' } }));
const { url } = await server.listen();

const first = connect(url, 'example-key');
const task = first.run({ input: 'Count slowly from 1 to 5' });
for await (const event of task) if (event.type === 'response.output_text.delta' && event.delta.includes('3')) break;
const snapshot = task.snapshot(); // Plain data: it may be kept, or sent to another machine.
console.log(`seen so far: ${JSON.stringify(snapshot.text)}`);

const second = connect(url, 'example-key');
const rest = second.attach(await task.responseId, { from: snapshot });
for await (const event of rest)
  if (event.type === 'response.output_text.delta') console.log(`then: ${JSON.stringify(event.delta)}`);

const { status, text } = await rest.result();
console.log(`${status}: ${JSON.stringify(text)}`);

await server.close();
await rm(data, { recursive: true });
