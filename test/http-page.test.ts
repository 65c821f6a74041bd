import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { startServer, type Answer } from './support/in-process-server.ts';

const param = ({ body: { error } }: Answer) =>
  typeof error === 'object' && error !== null && 'param' in error ? error.param : undefined;
const page = readFileSync('docs/http.md', 'utf8');

test('the harness that the page shows can be made as it stands, and is read back', async () => {
  const shown = /```json\n(\{\n {2}"name": "Reviewer"[\s\S]*?)```/.exec(page)?.[1] ?? '';
  await using server = await startServer();
  const made = await server.call('POST', '/v1/harnesses', JSON.parse(shown));
  expect(made).toMatchObject({ status: 200, body: { name: 'Reviewer', disabledTools: ['bash'], maxStep: 20 } });
});

test('a request that cannot mean what it says is refused and named', async () => {
  await using server = await startServer();
  const refused = async (body: object) => {
    const answer = await server.call('POST', '/v1/responses', { input: 'hi', ...body });
    return [answer.status, param(answer)];
  };
  expect(await refused({ metadata: { reins_events: 'x' } })).toEqual([400, 'metadata.reins_events']);
  expect(await refused({ metadata: { reins_fork: 'yes' } })).toEqual([400, 'metadata.reins_fork']);
  expect(await refused({ metadata: { reins_fork: true } })).toEqual([400, 'metadata.reins_fork']);
  const url = { type: 'input_file', file_url: 'https://a.example/x' };
  expect(await refused({ input: [{ role: 'user', content: [url] }] })).toEqual([400, 'input[0].content[0].file_url']);
  const hook = await server.call('POST', '/v1/reins/webhooks', { url: 'https://a.example/x', events: [] });
  expect([hook.status, param(hook)]).toEqual([400, 'events']);
});
