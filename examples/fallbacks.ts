// Another model answers where the first one does not. Nothing listens at the first one's address; the second is `demo`.
// Run it with: npx node examples/fallbacks.ts
import { createAgent, loadConfig } from '../src/index.ts';

const env = {
  ...process.env,
  OPENAI_COMPATIBLE_BASE_URL: 'http://127.0.0.1:49150/v1',
  OPENAI_COMPATIBLE_API_KEY: 'none',
};
await using agent = createAgent(
  { model: 'openai-compatible/qwen3', fallbacks: [{ model: 'demo' }] },
  { settings: loadConfig({ env }) },
);
const stream = agent.runStream('Reply with exactly: here I am');
for await (const event of stream)
  if (event.type === 'model-switched')
    console.log(`[${event.data.from.model} → ${event.data.to.model}: ${event.data.reason}]`);
const { output, model } = (await stream.result()).raiseForStatus();
console.log(`${output}, says ${model.served?.model}; fallback: ${model.fallback}`);
