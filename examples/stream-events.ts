// Shows what a run does, event by event, and how it ended.
// Run it with: npx node examples/stream-events.ts [MODEL] [PROMPT]
import { createAgent } from '../src/index.ts';

await using agent = createAgent({ model: process.argv[2] ?? 'demo' }, { workspace: '.' });
await using stream = agent.runStream(process.argv[3] ?? 'Summarise LICENSE in two bullets');
for await (const event of stream) {
  switch (event.type) {
    case 'text-delta':
      process.stdout.write(event.data);
      break;
    case 'tool-call-start':
      console.log(`> calling ${event.data.name}(${JSON.stringify(event.data.input)})`);
      break;
    case 'tool-result':
      if (event.data.isError) console.log(`  tool error: ${event.data.content}`);
      break;
    case 'turn-complete':
      console.log();
      break;
    default:
      break;
  }
}
const result = (await stream.result()).raiseForStatus();
console.log(`${result.status} after ${result.steps} steps`);
