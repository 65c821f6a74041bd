// Documents that no provider takes, on each way by which a file gets to a model: given with a task, uploaded, read from the
// working directory, and handed over by a tool. The provider here refuses every request that holds one, as real ones do.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createFastClock } from './support/fast-clock.ts';
import { lockedPdf, pdf, png } from '../src/testing/documents.ts';
import { key } from './support/uhp.ts';
import { join } from 'node:path';
import { simpleCall, simpleText } from '../src/testing/model-servers/reply-script.ts';
import { startModelServer, type ModelServer, type RecordedRequest } from '../src/testing/model-servers/model-server.ts';
import { startServer, type TestServer } from './support/server.ts';
import { temporaryFolder } from './support/folders.ts';
import { writeFileSync } from 'node:fs';
import type { Body } from './support/event-stream.ts';

const good = { 'good.png': png(4, 4), 'good.pdf': pdf(2) };
const bad: Readonly<Record<string, readonly [mediaType: string, bytes: Buffer]>> = {
  'empty.pdf': ['application/pdf', Buffer.alloc(0)],
  'long.pdf': ['application/pdf', pdf(500)],
  'locked.pdf': ['application/pdf', lockedPdf()],
  'cut.pdf': ['application/pdf', pdf(2).subarray(0, 150)],
  'document.png': ['image/png', lockedPdf()],
  'document.txt': ['text/plain', pdf(500)],
  'image.pdf': ['application/pdf', png(20_000, 20_000)],
  'huge.png': ['image/png', png(20_000, 20_000)],
  'drawing.svg': ['image/svg+xml', Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>')],
};
const names = Object.keys(bad);

interface Block {
  readonly type: string;
  readonly text?: string;
  readonly content?: string | readonly Block[];
  readonly source?: { readonly media_type: string; readonly data: string };
}

let server: TestServer;
let model: ModelServer;
/** Each image or document that the provider was shown: its type and its bytes. */
const shown = new Set<string>();

const blocksOf = ({ body }: RecordedRequest): readonly Block[] => {
  const within = (block: Block): readonly Block[] =>
    typeof block.content === 'object' ? [block, ...block.content.flatMap(within)] : [block];
  return (body['messages'] as unknown as Block[]).flatMap(within);
};

/** Refuses what is not good; does what the last text says. */
function answer(request: RecordedRequest) {
  const blocks = blocksOf(request);
  const files = blocks.filter(({ type }) => type === 'image' || type === 'document').map(({ source }) => source);
  for (const file of files) shown.add(`${file?.media_type} ${file?.data}`);
  const known = Object.values(good).map((bytes) => bytes.toString('base64'));
  if (files.some((file) => !known.includes(file?.data ?? '')))
    return {
      fault: { kind: 'status', status: 400, type: 'invalid_request_error', message: 'Could not process it' },
    } as const;
  const last = blocks.at(-1);
  const asked = blocks.findLast(({ type, text }) => type === 'text' && /^(call|say) /.test(text ?? ''))?.text ?? '';
  const [, tool, path = ''] = /^call (\w+) (\S+)$/.exec(asked) ?? [];
  const isDone = last?.type === 'tool_result' || blocks.at(-2)?.type === 'tool_result' || tool === undefined;
  return isDone ? simpleText('seen') : simpleCall(`c${model.requests.length}`, tool, { path });
}

/** A real MCP server that gives the files of a folder, as their names call them. */
function documentServer(folder: string): string {
  const of = (path: string) => JSON.stringify(import.meta.resolve(`@modelcontextprotocol/sdk/${path}`));
  const file = join(folder, 'documents.mjs');
  const types = Object.fromEntries(Object.entries(bad).map(([name, [type]]) => [name, type]));
  writeFileSync(
    file,
    `
import { McpServer } from ${of('server/mcp.js')};
import { StdioServerTransport } from ${of('server/stdio.js')};
import { readFileSync } from 'node:fs';
import { z } from ${JSON.stringify(import.meta.resolve('zod'))};
const types = ${JSON.stringify({ ...types, 'good.png': 'image/jpeg', 'good.pdf': 'application/pdf' })};
const server = new McpServer({ name: 'documents', version: '1' });
server.registerTool('get', { description: 'Gets.', inputSchema: { path: z.string() } }, ({ path }) => {
  const [data, mimeType] = [readFileSync(${JSON.stringify(folder)} + '/' + path).toString('base64'), types[path]];
  const resource = { uri: 'file:///' + path, mimeType, blob: data };
  return { content: [mimeType.startsWith('image/') ? { type: 'image', mimeType, data } : { type: 'resource', resource }] };
});
await server.connect(new StdioServerTransport());
`,
  );
  return file;
}

beforeAll(async () => {
  const folder = temporaryFolder();
  for (const [name, bytes] of Object.entries(good)) writeFileSync(join(folder, name), bytes);
  for (const [name, [, bytes]] of Object.entries(bad)) writeFileSync(join(folder, name), bytes);
  model = await startModelServer('anthropic', answer);
  server = await startServer({
    data: temporaryFolder(),
    env: { ANTHROPIC_BASE_URL: model.baseURL, ANTHROPIC_API_KEY: 'key' },
    settings: {
      models: { default: 'claude-opus-4.6' },
      agent: {
        mcp: [{ transport: 'stdio', name: 'documents', command: process.execPath, args: [documentServer(folder)] }],
      },
    },
    clock: createFastClock(20),
  });
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await model[Symbol.asyncDispose]();
});

const withPart = (text: string, part: object) => [{ role: 'user', content: [{ type: 'input_text', text }, part] }];
const dataOf = (name: string) => {
  const [type, bytes] = bad[name] ?? expect.fail();
  return { type: 'input_file', filename: name, file_data: `data:${type};base64,${bytes.toString('base64')}` };
};

async function upload(name: string): Promise<object> {
  const [type, bytes] = bad[name] ?? expect.fail();
  const form = new FormData();
  form.append('purpose', 'user_data');
  form.append('file', new Blob([new Uint8Array(bytes)], { type }), name);
  const headers = { authorization: `Bearer ${key}` };
  const response = await fetch(`${server.url}/v1/files`, { method: 'POST', headers, body: form });
  return { type: 'input_file', file_id: ((await response.json()) as Body).id };
}

async function say(input: unknown, after?: Body): Promise<Body> {
  const previous = after === undefined ? {} : { previous_response_id: after.id };
  return (await server.uhp.create({ input, ...previous })).body;
}

const resultOf = ({ output }: Body) => output.find(({ type }) => type === 'function_call_output')?.output;
const expectGoesOn = async (name: string, body: Body) => {
  const next = await say('say more', body);
  expect([name, body.status, next.status, next.error]).toEqual([name, 'completed', 'completed', null]);
};

describe('B123: a document that no provider takes spoils neither its task nor the turns after it', () => {
  test('given with the task, as data or as an upload; the model is told where it lies', async () => {
    for (const name of names)
      for (const part of [dataOf(name), await upload(name)]) {
        await expectGoesOn(name, await say(withPart('say it', part)));
        if (name === 'long.pdf' || name === 'huge.png')
          expect(JSON.stringify(model.requests.at(-1)?.body)).toMatch(
            new RegExp(`lies in the working directory.*${name}`),
          );
      }
  });

  test('read from the working directory: the read is an error output', async () => {
    for (const name of names) {
      const body = await say(withPart(`call read_file ${name}`, dataOf(name)));
      const isText = name === 'drawing.svg' || name === 'empty.pdf';
      if (!isText)
        expect([name, resultOf(body)]).toEqual([name, expect.stringContaining('is a binary file, not text')]);
      expect([name, resultOf(body)?.length]).toEqual([name, expect.any(Number)]);
      await expectGoesOn(name, body);
    }
  });

  test('handed over by a tool, whatever it calls it: the model is told of it', async () => {
    for (const name of names) {
      const body = await say(`call documents_get ${name}`);
      await expectGoesOn(name, body);
      expect([name, JSON.stringify(model.requests.at(-1)?.body)]).toEqual([
        name,
        expect.stringMatching(/cannot be shown/),
      ]);
    }
  });

  test('while one that it takes is shown, as what it is', async () => {
    for (const [name, bytes] of Object.entries(good)) {
      shown.clear();
      await expectGoesOn(name, await say(`call documents_get ${name}`));
      // The tool calls the PNG a JPEG.
      expect([...shown]).toEqual([
        `${name === 'good.png' ? 'image/png' : 'application/pdf'} ${bytes.toString('base64')}`,
      ]);
    }
  });
});
