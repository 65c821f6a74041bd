// A durable run waits for a person; its process ends, another one opens the same file, and the run goes on where it was.
// Run it with: npx node examples/durable-resume.ts
import { createRuntime } from '../src/index.ts';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const folder = mkdtempSync(join(tmpdir(), 'reins-example-'));
/** As a program that starts: the same agents, the same file. */
const start = () =>
  createRuntime({
    agents: [
      { config: { name: 'writer', model: 'demo', permissionMode: 'allow-reads' }, parts: { workspace: folder } },
    ],
    driver: { kind: 'sqlite', path: join(folder, 'runs.sqlite') },
  });

const before = start();
// The id is of the caller's making: whoever submits it again, after a crash too, gets this run and no second one.
const request = { requestId: 'order-66', sessionId: 'customer-7' };
const handle = await before.submit('Create a file named note.txt containing exactly: kept', request);
const { status, pending, cursor } = await handle.result();
console.log(`${status}: ${pending.map(({ call }) => call.name).join()}`);
await before.close();

const after = start();
for (const { approvalId, pending: asked } of await after.approvals.list({ sessionId: 'customer-7' })) {
  console.log(`allowed, in another process: ${asked.call.name}(${JSON.stringify(asked.call.input)})`);
  await after.approvals.decide(approvalId, { decision: 'approve', argsDigest: asked.argsDigest });
}
// What has happened since, and the rest as it comes.
const events = await after.events(handle.runId, { after: cursor ?? '' });
for await (const event of events)
  if (event.type === 'run-started' || event.type === 'tool-result') console.log(`[${event.type}]`);
console.log((await events.result()).status, readFileSync(join(folder, 'note.txt'), 'utf8'));
console.log(
  (await after.submit('Create a file named note.txt containing exactly: kept', request)).runId === handle.runId,
);
await after.close();
rmSync(folder, { recursive: true });
