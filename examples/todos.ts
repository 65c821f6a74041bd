// Follows the task list that an agent keeps while it works. The model is scripted.
// Run it with: npx node examples/todos.ts
import { createAgent } from '../src/index.ts';
import { createScriptedModel, simpleCall, simpleText } from '../src/testing/index.ts';

const plan = (...statuses: string[]) =>
  simpleCall('call_1', 'write_todos', {
    todos: ['Read the code', 'Write the test', 'Mend the bug'].map((content, at) => ({
      content,
      status: statuses[at] ?? 'pending',
    })),
  });
const provider = createScriptedModel([
  plan('in_progress'),
  plan('completed', 'in_progress'),
  plan('completed', 'completed', 'in_progress'),
  plan('completed', 'completed', 'completed'),
  simpleText('It is mended.'),
]);
await using agent = createAgent({ planning: true }, { provider });
const stream = agent.runStream('Mend the bug');
for await (const event of stream) {
  if (event.type !== 'todos-updated') continue;
  const { completed, total, inProgress } = event.data;
  console.log(`[${completed}/${total}] ${inProgress ?? 'all done'}`);
}
console.log((await stream.result()).output);
