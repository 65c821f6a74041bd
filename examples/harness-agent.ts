// An agent under the AI SDK's `HarnessAgent`: it asks before it writes, its host ends, and another one goes on with the turn.
// Run it with: npx node examples/harness-agent.ts
import { HarnessAgent } from '@ai-sdk/harness/agent';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { toHarnessV1 } from '../src/index.ts';

const folder = mkdtempSync(join(tmpdir(), 'reins-example-'));
const none = () => Promise.reject(new Error('There is no sandbox.'));
// A `HarnessAgent` wants a sandbox; an agent of Reins works in its own folder, and uses nothing of it.
const sandboxSession = {
  description: 'None.',
  run: async () => ({ exitCode: 0, stdout: folder, stderr: '' }),
  spawn: none,
  readFile: none,
  readBinaryFile: none,
  readTextFile: none,
  writeFile: none,
  writeBinaryFile: none,
  writeTextFile: none,
};

/** As a program that starts: the same agent, the same file. */
function start() {
  const definition = { config: { model: 'demo' }, parts: { workspace: folder } };
  const harness = toHarnessV1(definition, { driver: { kind: 'sqlite', path: join(folder, 'runs.sqlite') } });
  return { harness, agent: new HarnessAgent({ harness, permissionMode: 'allow-reads' }) };
}

const before = start();
const session = await before.agent.createSession({ sessionId: 'customer-7', sandboxSession });
const prompt = 'Create a file named note.txt containing exactly: kept';
const asked = await before.agent.generate({ session, prompt });
const requests = asked.content.filter((part) => part.type === 'tool-approval-request');
console.log('asks for:', requests.map(({ toolCall }) => toolCall.toolName).join());
const state = JSON.stringify(await session.detach());
await before.harness[Symbol.asyncDispose]();

const after = start();
const resumed = await after.agent.createSession({
  sessionId: 'customer-7',
  sandboxSession,
  resumeFrom: JSON.parse(state),
});
const { text } = await after.agent.continueGenerate({
  session: resumed,
  toolApprovalContinuations: requests.map(({ approvalId }) => ({
    type: 'tool-approval-response',
    approvalId,
    approved: true,
  })),
});
console.log('says:', text);
console.log('file:', readFileSync(join(folder, 'note.txt'), 'utf8'));
await after.harness[Symbol.asyncDispose]();
rmSync(folder, { recursive: true });
