// Streams an answer's text. Without a key the model is `demo`, a script.
// Run it with: npx node examples/stream-text.ts [MODEL] [PROMPT]
import { createAgent } from '../src/index.ts';

await using agent = createAgent({ model: process.argv[2] ?? 'demo' });
for await (const event of agent.runStream(process.argv[3] ?? 'Count slowly from 1 to 5'))
  if (event.type === 'text-delta') process.stdout.write(event.data);
process.stdout.write('\n');
