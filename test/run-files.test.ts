// Tasks as files of stream parts, from one server to another (P-060, P-068).

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { join } from 'node:path';
import { existsSync } from 'node:fs';
import { readFile, truncate, writeFile } from 'node:fs/promises';
import { DatabaseSync } from 'node:sqlite';
import { createPartsView } from '../src/views/parts-view.ts';
import { loadConfig } from '../src/config.ts';
import { logOfAllTypes } from '../src/testing/log-of-all-types.ts';
import { marshalStreamPart, type StreamPart } from '../src/protocol/parts/index.ts';
import { openRunFiles } from '../src/run-files.ts';
import { reins, temporaryFolder } from './reins-process.ts';
import { startServer, type RunningServer } from './support/in-process-server.ts';
import { testRunId, testSessionId } from '../src/testing/log-builder.ts';

let [here, there]: RunningServer[] = [];
beforeAll(async () => {
  [here, there] = await Promise.all([startServer(), startServer()]);
});
afterAll(async () => {
  await Promise.all([here?.close(), there?.close()]);
});
const from = () => here ?? expect.fail();
const to = () => there ?? expect.fail();

const placeOf = ({ dataDir }: RunningServer) => loadConfig({ flags: { data: dataDir }, env: {} });

async function write(server: RunningServer, id: string): Promise<string> {
  await using files = await openRunFiles(placeOf(server));
  let text = '';
  for await (const lines of files.write(id)) text += lines;
  return text;
}
async function keep(server: RunningServer, text: string, principal = 'owner') {
  await using files = await openRunFiles(placeOf(server));
  return await files.keep(text, principal);
}
const idOf = (body: Record<string, unknown>) => String(body['id']);
const sessionOf = (body: Record<string, unknown>) => (body['metadata'] as { session_id: string }).session_id;
const lines = (parts: readonly StreamPart[]) => parts.map((part) => `${marshalStreamPart(part)}\n`).join('');

describe('a session of one server, put into another while both are at work', () => {
  let [first, second, file] = [{} as Record<string, unknown>, {} as Record<string, unknown>, ''];
  beforeAll(async () => {
    const input = 'Create a file named a.txt containing exactly: kept';
    first = (await from().call('POST', '/v1/responses', { input })).body;
    second = (await from().call('POST', '/v1/responses', { input: 'Say hi', previous_response_id: idOf(first) })).body;
    file = await write(from(), sessionOf(first));
    await keep(to(), file);
  });

  test('every view of it is the same, but for the files, which are not in it', async () => {
    const withoutFiles = (body: unknown) =>
      JSON.parse(JSON.stringify(body, (key, value) => (key === 'annotations' || key === 'files' ? [] : value)));
    const same = async (path: string) => {
      const [one, other] = await Promise.all([from(), to()].map((server) => server.call('GET', path)));
      expect(withoutFiles(other)).toEqual({ ...withoutFiles(one), headers: {} });
    };
    for (const { id } of [first, second] as { id: string }[]) {
      await same(`/v1/responses/${id}`);
      await same(`/v1/responses/${id}/input_items`);
    }
    await same(`/v1/responses/${idOf(second)}?stream=true&starting_after=-1`);
    await same(`/v1/sessions/${sessionOf(first)}/turns`);
    const session = await to().call('GET', `/v1/sessions/${sessionOf(first)}`);
    expect(session).toMatchObject({ status: 200, body: { title: expect.stringContaining('Create') } });
    expect(await write(to(), idOf(second))).toBe(await write(from(), idOf(second)));
  });

  test('the same file twice is once, and a single task of it is there already', async () => {
    const again = await keep(to(), file);
    expect(again.runs.map(({ isNew }) => isNew)).toEqual([false, false]);
    expect((await keep(to(), await write(from(), idOf(second)))).runs).toMatchObject([{ isNew: false }]);
    const { body } = await to().call('GET', '/v1/sessions');
    expect(JSON.stringify(body).split(sessionOf(first)).length).toBe(2);
  });

  test('U-043: it is its principal’s alone', async () => {
    const text = lines(foreign('mine'));
    const { runs } = await keep(to(), text, 'somebody');
    expect((await to().call('GET', `/v1/responses/${runs[0]?.runId}`)).status).toBe(404);
  });

  test('a session that has gone on here, in another way, takes no more', async () => {
    const other = await startServer();
    await keep(other, await write(from(), idOf(second)));
    await expect(keep(other, file)).rejects.toThrow('has gone on here, in another way');
    await other.close();
  });
});

function foreign(text: string): StreamPart[] {
  const usage = {
    inputTokens: { total: 3, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
    outputTokens: { total: 1, text: undefined, reasoning: undefined },
  };
  const finishReason = { unified: 'stop', raw: undefined } as const;
  return [
    { type: 'stream-start', modelId: 'm-1' },
    { type: 'text-start', id: '0' },
    { type: 'text-delta', id: '0', delta: text },
    { type: 'text-end', id: '0' },
    { type: 'finish-step', finishReason, usage },
    { type: 'finish', finishReason, totalUsage: usage },
  ];
}

describe('files of others', () => {
  test('P-068: turns without an envelope are a session of their own, the same ones each time', async () => {
    const text = `\n${lines(foreign('One.'))}{"type":"tomorrow","x":1}\r\n${lines(foreign('Two.'))}`;
    const kept = await keep(to(), text);
    expect(kept).toMatchObject({ runs: [{ isNew: true }, { isNew: true }], leftOut: 1 });
    expect((await keep(to(), text)).runs.map(({ isNew }) => isNew)).toEqual([false, false]);
    const { body } = await to().call('GET', `/v1/responses/${kept.runs[1]?.runId}`);
    expect(body).toMatchObject({
      status: 'completed',
      previous_response_id: kept.runs[0]?.runId,
      usage: { input_tokens: 3, output_tokens: 1 },
    });
    expect(JSON.stringify(body)).toContain('Two.');
  });

  test('it is shown, and cannot be gone on with: its agent is not here', async () => {
    const { runs } = await keep(to(), lines(foreign('Three.')));
    const next = { input: 'And?', previous_response_id: runs[0]?.runId };
    expect((await to().call('POST', '/v1/responses', next)).status).toBe(404);
  });
});

test('I3: what had not ended has failed, and nobody goes on with it', async () => {
  const view = createPartsView({ envelope: true });
  const log = logOfAllTypes().slice(0, 20);
  const { runs } = await keep(to(), lines(log.flatMap((event) => view.push(event))));
  expect(runs).toEqual([{ runId: testRunId, sessionId: testSessionId, isNew: true }]);
  expect((await to().call('GET', `/v1/responses/${testRunId}`)).body['status']).toBe('failed');
});

describe('I2: what is refused leaves nothing behind', () => {
  const good = lines(foreign('x'));
  test.each([
    [
      'a line that is no part',
      `${good}{"type":"text-delta"}\n[]\n`,
      /line 7: .*"id".*\n?line 8: A part must be an object/s,
    ],
    ['a line that is no JSON', `${good}oops\n`, 'line 7: A part must be JSON.'],
    ['nothing', '\n\n', 'It holds no part.'],
  ])('%s', async (_, text, why) => {
    await expect(keep(to(), text)).rejects.toThrow(why);
    expect((await keep(to(), good)).runs).toHaveLength(1);
  });

  test('runs of which the last one does not fit', async () => {
    const { body } = await from().call('POST', '/v1/responses', { input: 'Say hi' });
    const theirs = await write(from(), idOf(body));
    await keep(to(), theirs, 'somebody');
    const { body: next } = await from().call('POST', '/v1/responses', { input: 'Say ho' });
    await expect(keep(to(), `${await write(from(), idOf(next))}${theirs}`)).rejects.toThrow("somebody else's");
    expect((await to().call('GET', `/v1/responses/${idOf(next)}`)).status).toBe(404);
  });

  test('a file that begins in the middle of a run', async () => {
    const view = createPartsView({ envelope: true });
    const [first, ...rest] = logOfAllTypes();
    if (first?.type !== 'run-started') return expect.fail();
    const second = { ...first, data: { ...first.data, leg: 2, cause: 'resume' } } as const;
    const text = lines([second, ...rest].flatMap((event) => view.push(event)));
    await expect(keep(to(), text)).rejects.toThrow('It begins in the middle of a run');
  });

  test('E-941: a log that breaks the laws', async () => {
    const view = createPartsView({ envelope: true });
    const log = logOfAllTypes().filter(({ type }) => type !== 'tool-call-start');
    await expect(keep(to(), lines(log.flatMap((event) => view.push(event))))).rejects.toThrow(/breaks a law: L7/);
  });

  test('an event that is none, by its line', async () => {
    const view = createPartsView({ envelope: true });
    const text = lines(logOfAllTypes().flatMap((event) => view.push(event)));
    await expect(keep(to(), text.replace('"purpose":"reply"', '"purpose":"fun"'))).rejects.toThrow(
      /line 4: .*"purpose"/,
    );
  });
});

test('I5: what is kept here for others cannot be reached by its name in a file', async () => {
  const secret = Buffer.alloc(20_000, Buffer.from([0xff, 0xfe, 0x00])).toString('base64');
  const file_data = `data:application/zip;base64,${secret}`;
  const content = [
    { type: 'input_text', text: 'x' },
    { type: 'input_file', filename: 'a.zip', file_data },
  ];
  const { body } = await to().call('POST', '/v1/responses', { input: [{ role: 'user', content }] });
  const text = await write(to(), idOf(body));
  expect(/sha256:/.test(text)).toBe(true);
  const stolen = text.replaceAll(idOf(body), 'resp_stolen').replaceAll(sessionOf(body), 'hsessstolen');
  await keep(to(), stolen);
  expect(/sha256:|file:|reins_content/.exec(await write(to(), 'resp_stolen'))).toBeNull();
  const { body: items } = await to().call('GET', '/v1/responses/resp_stolen/input_items');
  expect(JSON.stringify(items).length).toBeLessThan(2_000);
});

describe('the command line', () => {
  const data = (server: RunningServer) => ['--data', server.dataDir];

  test('what is too large to be read is refused by its size, what is empty as such, and a name with a dot is a file', async () => {
    const file = join(temporaryFolder(), 'large.jsonl');
    await writeFile(file, '{');
    await truncate(file, 300_000_000);
    const taken = await reins(['import', file, ...data(to())]);
    expect(taken).toMatchObject({ code: 1, stderr: expect.stringContaining('It has more than 256 MiB') });
    await truncate(file, 0);
    const empty = await reins(['import', file, ...data(to())]);
    expect(empty).toMatchObject({ code: 1, stderr: `reins: ${file} is not taken. It holds no part.\n` });
    const zip = join(temporaryFolder(), 'resp_all.zip');
    expect(await reins(['export', 'resp_all.zip', '--out', zip, ...data(to())])).toMatchObject({ code: 2 });
  }, 30_000);

  test('an export that breaks off leaves no half of a file', async () => {
    const { body: one } = await from().call('POST', '/v1/responses', { input: 'Say hi' });
    const { body: two } = await from().call('POST', '/v1/responses', {
      input: 'Say ho',
      previous_response_id: idOf(one),
    });
    using database = new DatabaseSync(join(from().dataDir, 'reins.db'));
    const damage = `UPDATE event_batches SET body = '[' WHERE run_no = (SELECT run_no FROM runs WHERE run_id = ?)`;
    database.prepare(damage).run(idOf(two));
    const file = join(temporaryFolder(), 'half.jsonl');
    expect(await reins(['export', sessionOf(one), '--out', file, ...data(from())])).toMatchObject({ code: 1 });
    expect(existsSync(file)).toBe(false);
  }, 30_000);

  test('export writes lines or a private file, import says what it has taken', async () => {
    const { body } = await from().call('POST', '/v1/responses', { input: 'Say hi' });
    const file = join(temporaryFolder(), 'run.jsonl');
    const written = await reins(['export', idOf(body), '--out', file, ...data(from())]);
    expect(written).toMatchObject({ code: 0, stdout: '', stderr: `Wrote ${idOf(body)} to ${file}.\n` });
    expect(await readFile(file, 'utf8')).toBe(await write(from(), idOf(body)));
    const again = await reins(['export', idOf(body), '--out', file, ...data(from())]);
    expect(again).toMatchObject({
      code: 1,
      stderr: `reins: ${file} cannot be written: it is there already; choose another name.\n`,
    });
    const taken = await reins(['import', file, '--json', ...data(to())]);
    expect(JSON.parse(taken.stdout)).toMatchObject({ runs: [{ runId: idOf(body), isNew: true }], leftOut: 0 });
    expect((await to().call('GET', `/v1/responses/${idOf(body)}`)).body['status']).toBe('completed');
  }, 30_000);
});
