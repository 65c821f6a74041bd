// Shows a tool call while it is being written, when it runs, and what came back; then how the run ended.
// Run it with: npx node examples/tool-calls.ts [MODEL] [PROMPT]
import { createAgent, verdictOf } from '../src/index.ts';

await using agent = createAgent({ model: process.argv[2] ?? 'demo' });
const stream = agent.runStream(process.argv[3] ?? 'Summarise README.md in three bullets');
for await (const event of stream) {
  switch (event.type) {
    case 'tool-call-delta':
      if (event.data.partialJson === '') console.log(`[writing a call to ${event.data.name} …]`);
      break;
    case 'tool-call-start':
      console.log(`[running ${event.data.name} ${JSON.stringify(event.data.input)}]`);
      break;
    case 'tool-result':
      console.log(
        event.data.isError ? `[failed: ${event.data.content}]` : `[${event.data.content.length} characters back]`,
      );
      break;
    case 'text-complete':
      console.log(event.data);
      break;
    default:
      break;
  }
}
console.log(`verdict: ${verdictOf(await stream.result())}`);
