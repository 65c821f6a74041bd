// Takes the first lines of an answer and stops: leaving the loop cancels the run at once.
// Run it with: npx node examples/stop-early.ts [MODEL] [PROMPT]
import { createAgent } from '../src/index.ts';

await using agent = createAgent({ model: process.argv[2] ?? 'demo' });
const stream = agent.runStream(process.argv[3] ?? 'Count slowly from 1 to 1000');
let text = '';
for await (const chunk of stream.text()) {
  text += chunk;
  if (text.includes('2\n')) break;
}
console.log(text.split('\n').slice(0, 2).join('\n'));
console.log(`[${(await stream.result()).status}]`);
