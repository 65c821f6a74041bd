// A slow model, and one that asks to be called later: notices fill the silence. The model is scripted.
// Run it with: npx node examples/progress.ts
import { createAgent } from '../src/index.ts';
import { createScriptedModel } from '../src/testing/index.ts';

const clock = {
  now: () => Date.now(),
  timer(ms: number, call: () => void) {
    const timer = setTimeout(call, ms);
    return () => clearTimeout(timer);
  },
};
const provider = createScriptedModel(
  [
    { fault: { kind: 'status', status: 429, headers: { 'retry-after-ms': '500' } } },
    {
      pieces: [
        { kind: 'pause', ms: 700 },
        { kind: 'text', chunks: ['At last.'] },
      ],
    },
  ],
  { clock },
);
const progress = { firstAfterSeconds: 0.2, repeatEverySeconds: 0.2 };
await using agent = createAgent({ progress, retry: { jitter: 0 } }, { provider });
const stream = agent.runStream('Take your time');
for await (const event of stream) {
  if (event.type === 'waiting') console.log(`[still waiting on the ${event.data.on}: ${event.data.seconds} s]`);
  else if (event.type === 'text-delta') console.log(event.data);
}
