// Shows a tool call while it is being written, when it runs, and what came back. The model is scripted: it writes slowly.
// Run it with: npx node examples/tool-calls.ts
import { createAgent, defineTool } from '../src/index.ts';
import { createScriptedModel, simpleText } from '../src/testing/index.ts';
import { z } from 'zod';

const report = ['{"path":"report.md",', '"content":"A long ', 'report, written ', 'piece by piece."}'];
const provider = createScriptedModel([
  { pieces: [{ kind: 'tool-call', id: 'call_1', name: 'save', arguments: report }] },
  simpleText('Saved.'),
]);
const save = defineTool({
  name: 'save',
  description: 'Saves a text.',
  input: z.object({ path: z.string(), content: z.string() }),
  run: ({ path, content }) => `${content.length} characters in ${path}`,
});
await using agent = createAgent({}, { provider, tools: [save] });
const stream = agent.runStream('Write a report');
for await (const event of stream) {
  if (event.type === 'attempt-reset') console.log('[drop what was shown of this attempt]');
  else if (event.type === 'tool-call-delta' && event.data.partialJson === '')
    console.log(`[writing a call to ${event.data.name} …]`);
  else if (event.type === 'tool-call-delta') console.log(`    ${event.data.partialJson}`);
  else if (event.type === 'tool-call-start') console.log(`[running ${event.data.name}]`);
  else if (event.type === 'tool-result') console.log(`[it says: ${event.data.content}]`);
}
console.log((await stream.result()).output);
