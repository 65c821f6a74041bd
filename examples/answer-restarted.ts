// A model call breaks in mid-answer and is tried again: what to take off the screen, and what stays. The model is scripted.
// Run it with: npx node examples/answer-restarted.ts
import { createAgent, defineTool } from '../src/index.ts';
import { createScriptedModel, simpleText } from '../src/testing/index.ts';

const provider = createScriptedModel([
  {
    pieces: [
      { kind: 'text', chunks: ['Let me look. '] },
      { kind: 'tool-call', id: 'call_1', name: 'look', arguments: ['{}'] },
    ],
  },
  { ...simpleText('It is gr', 'een'), fault: { kind: 'cut', after: 1 } },
  simpleText('It is ', 'blue.'),
]);
const look = defineTool({
  name: 'look',
  description: 'Looks at it.',
  input: { type: 'object', properties: {} },
  run: () => 'blue',
});
await using agent = createAgent({ retry: { backoffSeconds: 0.1 } }, { provider, tools: [look] });

const stream = agent.runStream('What colour is it?');
let screen = '';
for await (const chunk of stream.text({
  onReset({ kept, reason }) {
    console.log(`on the screen: ${screen}\n[${reason}: back to what is kept]`);
    screen = kept;
  },
}))
  screen += chunk;
console.log(`on the screen: ${screen}`);
console.log(`the answer:    ${(await stream.result()).output}`);
