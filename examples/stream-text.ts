// Streams an answer's text. Without a key the model is `demo`, a script.
// Run it with: npx node examples/stream-text.ts [MODEL] [PROMPT]
import { createAgent, RunFailed } from '../src/index.ts';

await using agent = createAgent({ model: process.argv[2] ?? 'demo', systemPrompt: 'You are helpful.' });
const onReset = () => process.stdout.write('\n[answer restarted]\n');
try {
  const text = agent.streamText(process.argv[3] ?? 'Count slowly from 1 to 5', { onReset });
  for await (const chunk of text) process.stdout.write(chunk);
  process.stdout.write('\n');
} catch (error) {
  if (!(error instanceof RunFailed)) throw error;
  console.log(`run failed: ${error.error.message}`);
}
