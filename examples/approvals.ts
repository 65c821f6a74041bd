// A call that needs a person: decided by a callback while the run works, or later, when the run was parked for it.
// Run it with: npx node examples/approvals.ts
import { createAgent, RunAwaitingInput } from '../src/index.ts';
import { createScriptedModel, simpleCall, simpleText } from '../src/testing/index.ts';
import { mkdtempSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const workspace = mkdtempSync(join(tmpdir(), 'reins-example-'));
const replies = [simpleCall('call_1', 'write_file', { path: 'a.txt', content: 'A' }), simpleText('Done.')];
const config = { permissionMode: 'allow-reads' } as const;

await using asking = createAgent(config, { provider: createScriptedModel(replies), workspace });
const refused = await asking.run('Write a.txt', {
  onApproval({ call }) {
    console.log(`may it call ${call.name}(${JSON.stringify(call.input)})? no`);
    return false;
  },
});
console.log(`${refused.status}; files: ${readdirSync(workspace).join() || 'none'}`);

const parking = { ...config, approvals: { direct: 'park' } } as const;
await using patient = createAgent(parking, { provider: createScriptedModel(replies), workspace });
const parked = await patient.run('Write a.txt');
try {
  parked.raiseForStatus();
} catch (error) {
  if (!(error instanceof RunAwaitingInput)) throw error;
  console.log(`waits for a word on ${error.pending.map(({ call }) => call.name).join()}`);
}
const resumed = await patient.resume(parked.runId, { onApproval: () => true }).result();
console.log(`${resumed.output} files: ${readdirSync(workspace).join()}`);
