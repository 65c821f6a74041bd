// Images in the input of a real provider's model (UD-44), and those that no provider takes (B123).

import { expect, test } from 'vitest';
import { createFastClock } from './support/fast-clock.ts';
import { startModelServer } from '../src/testing/model-servers/model-server.ts';
import { startServer } from './support/server.ts';
import { temporaryFolder } from './support/folders.ts';

/** One pixel. */
const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const svg = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>').toString('base64');

const taskWith = (part: object) => ({
  input: [{ role: 'user', content: [{ type: 'input_text', text: 'What is it?' }, part] }],
});

/** A server whose provider refuses each request with an image or document but the one good image. */
async function startStrict() {
  const shown: string[] = [];
  const model = await startModelServer('anthropic', ({ body }) => {
    const blocks = JSON.stringify(body).match(/\{"type":"(?:image|document)".*?\}\}/g) ?? [];
    shown.push(blocks.join());
    if (blocks.some((block) => !block.includes(png)))
      return { fault: { kind: 'status', status: 400, type: 'invalid_request_error', message: 'Could not process it' } };
    return { pieces: [{ kind: 'text', chunks: ['seen'] }] };
  });
  const server = await startServer({
    data: temporaryFolder(),
    env: { ANTHROPIC_BASE_URL: model.baseURL, ANTHROPIC_API_KEY: 'key' },
    settings: { models: { default: 'claude-opus-4.6' } },
    clock: createFastClock(20),
  });
  return {
    uhp: server.uhp,
    shown,
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      await model[Symbol.asyncDispose]();
    },
  };
}

test('UD-44: a model that sees is shown the image, whatever it was called, and again in the next turn', async () => {
  await using server = await startStrict();
  for (const part of [
    { type: 'input_image', image_url: `data:image/png;base64,${png}` },
    { type: 'input_image', file_data: `data:image/jpeg;base64,${png}` },
    { type: 'input_file', filename: 'a.dat', file_data: `data:text/plain;base64,${png}` },
  ]) {
    const first = await server.uhp.create(taskWith(part));
    expect(first.body.status).toBe('completed');
    expect(server.shown.at(-1)).toContain('"media_type":"image/png"');
    await server.uhp.create({ input: 'And now?', previous_response_id: first.body.id });
    expect(server.shown.at(-1)).toContain(png);
  }
});

test('B123: a file that no provider takes spoils neither its task nor the turns after it', async () => {
  await using server = await startStrict();
  const parts: Record<string, object> = {
    'a PDF of 0 bytes': { type: 'input_file', filename: 'a.pdf', file_data: 'data:application/pdf;base64,' },
    'a PDF that is none': { type: 'input_file', filename: 'a.pdf', file_data: 'data:application/pdf;base64,AAEC' },
    'a wrong ending': { type: 'input_file', filename: 'a.png', file_data: 'data:application/octet-stream;base64,AAEC' },
    'an image of 0 bytes': { type: 'input_image', image_url: 'data:image/png;base64,' },
    'an image that is cut off': { type: 'input_image', image_url: `data:image/png;base64,${png.slice(0, 60)}` },
    'an image of another kind': { type: 'input_image', image_url: `data:image/svg+xml;base64,${svg}` },
  };
  for (const [what, part] of Object.entries(parts)) {
    const first = await server.uhp.create(taskWith(part));
    const next = await server.uhp.create({ input: 'And now?', previous_response_id: first.body.id });
    expect([what, first.body.status, next.body.status]).toEqual([what, 'completed', 'completed']);
  }
  expect(server.shown.join('')).toBe('');
});
