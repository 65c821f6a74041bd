// An answer of a given shape: the schema is sent to the provider, the output is its JSON. The model is scripted.
// Run it with: npx node examples/structured-output.ts
import { createAgent } from '../src/index.ts';
import { createScriptedModel, simpleText } from '../src/testing/index.ts';

const outputSchema = {
  type: 'object',
  properties: { city: { type: 'string' }, people: { type: 'integer' } },
  required: ['city', 'people'],
  additionalProperties: false,
};
const provider = createScriptedModel([simpleText('{"city":"Bern",', '"people":137000}')]);
await using agent = createAgent({ outputSchema }, { provider });
const result = (await agent.run('The capital of Switzerland?')).raiseForStatus();
const answer: unknown = JSON.parse(result.output);
console.log(answer);
