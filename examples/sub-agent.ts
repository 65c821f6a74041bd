// An agent that hands work to another one. Both models are scripted; the second agent's events carry its name.
// Run it with: npx node examples/sub-agent.ts
import { createAgent } from '../src/index.ts';
import { createScriptedModel, simpleCall, simpleText } from '../src/testing/index.ts';

const provider = createScriptedModel([
  simpleCall('call_1', 'delegate_reader', { task: 'What does the licence ask for?' }),
  simpleText('It asks you to keep the notice.'),
]);
const reader = {
  name: 'reader',
  description: 'Reads long texts and gives the gist.',
  config: { systemPrompt: 'Answer in one sentence.', permissionMode: 'allow-reads' as const },
  parts: { provider: createScriptedModel([simpleText('Keep ', 'the notice.')]) },
};
await using agent = createAgent({}, { provider, workspace: '.', subagents: [reader] });
const stream = agent.runStream('May I copy it?', { children: true });
for await (const event of stream) {
  const who = event.agentPath?.join(' > ') ?? 'agent';
  if (event.type === 'tool-call-start') console.log(`${who}: calls ${event.data.name}`);
  if (event.type === 'text-complete') console.log(`${who}: ${event.data}`);
}
console.log(`answer: ${(await stream.result()).output}`);
