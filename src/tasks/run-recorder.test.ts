import { afterEach, expect, onTestFinished, test } from 'vitest';
import { acceptTask } from './accept-task.ts';
import { admissionOf, factOf, resultDraft } from '../testing/store-samples.ts';
import { blobKey, FilesUnavailableError, readBlobText } from '../files/blob-store.ts';
import { closeRun } from '../core/closing.ts';
import { composeLocal, type Local } from '../compose.ts';
import { createFolderBlobs } from '../files/folder-blobs.ts';
import { createSessionFiles } from '../files/session-files.ts';
import { createWorkspaces } from '../files/workspaces.ts';
import { createFrameFeeds, type FrameBatch, type FrameFeeds } from './frame-feeds.ts';
import { createRunLog } from '../stores/run-log.ts';
import { createRunRecorder } from './run-recorder.ts';
import { foldLog } from './fold-log.ts';
import { join } from 'node:path';
import { link, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { loadConfig } from '../config.ts';
import { openSqlite } from '../stores/sqlite/open-sqlite.ts';
import { parkFolder } from './settle-folder.ts';
import { parseNotStored } from '../files/not-stored.ts';
import { plainTask } from './task-body.ts';
import { recoverRuns } from './recover-runs.ts';
import { pauseRun } from './pause-run.ts';
import { runIds } from '../core/ids.ts';
import { resumeRun } from './resume-run.ts';
import { silentLogger } from '../core/logger.ts';
import { stopRun } from './cancel-task.ts';
import { DamageError, LeaseLostError } from '../core/errors.ts';
import { systemClock } from '../system.ts';
import { tmpdir } from 'node:os';
import type { Services } from './services.ts';
import type { Store } from '../stores/store.ts';
import type { Admission } from '../stores/admission.ts';

const opened: Local[] = [];
const folders: string[] = [];
afterEach(async () => {
  for (const local of opened.splice(0)) await local[Symbol.asyncDispose]();
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true, force: true });
});

async function open(): Promise<Services> {
  const local = composeLocal(loadConfig({ env: {}, readFile: () => '{}' }), { cwd: tmpdir() });
  opened.push(local);
  await local.harness();
  return local.services;
}

const accept = (services: Services, text: string) =>
  acceptTask(services, {
    principal: 'owner',
    body: { ...plainTask, messages: [{ content: [{ type: 'text', text }] }] },
    idempotency: null,
  });

/** The same process, over another store. */
function over(services: Services, store: Store): Services {
  const log = createRunLog({ store, clock: services.clock, logger: silentLogger });
  return { ...services, store, log, frames: createFrameFeeds(log) };
}

/** Feeds that somebody reads, and all that is given out on them. */
function traced(feeds: FrameFeeds): { readonly frames: FrameFeeds; readonly given: FrameBatch[] } {
  const given: FrameBatch[] = [];
  const openFeed: FrameFeeds['open'] = (source) => {
    const live = feeds.open(source);
    return {
      wanted: true,
      push(batch) {
        if (batch !== null) given.push(batch);
        live.push(batch);
      },
      close: () => live.close(),
    };
  };
  return { frames: { open: openFeed, follow: feeds.follow }, given };
}

/** The run of a task, whose stream tells of messages. */
function taskOf(admission: Admission): Admission {
  const { harnessId } = admission;
  const about = { harnessId, createdAt: 1, metadata: {}, ignoredFields: [], store: true, background: false };
  const task = { ...about, previousResponseId: null, reinsEvents: true, view: 1, inputItems: [] } as const;
  const events = admission.events.map((event) =>
    event.type === 'run-started' ? { ...event, data: { ...event.data, task } } : event,
  );
  return { ...admission, events };
}

test('R1, E-661: what is said while the log is folded again, after an ending that was overtaken, is folded once', async () => {
  await using real = openSqlite(':memory:');
  const admission = taskOf(admissionOf('x'));
  await real.admit(admission);
  const { runId } = admission;
  const say = async (messageId: string) => {
    const data = { messageId, content: [{ type: 'text', text: messageId }], mode: 'steer' } as const;
    await real.appendFact(factOf({ type: 'user-message', step: 0, attempt: 0, data }, admission));
  };
  let [isOvertaken, reads] = [false, 0];
  const store: Store = {
    ...real,
    async append(entries, options) {
      if (!isOvertaken && entries.some(({ end }) => end !== undefined)) {
        isOvertaken = true;
        await say('first');
      }
      return real.append(entries, options);
    },
    async readEvents(id, range) {
      // The first read is the writer's: it meets the first message; the second begins the fold.
      if (isOvertaken && ++reads === 2) await say('second');
      return real.readEvents(id, range);
    },
  };
  const log = createRunLog({ store, clock: systemClock, logger: silentLogger });
  const { frames, given } = traced(createFrameFeeds(log));
  const services = { ...(await open()), store, log, frames };
  const run = await real.run(runId);
  if (run === null) throw new Error('It was admitted.');
  const recorder = createRunRecorder(services, run, { ...(await foldLog(services, run)), leg: 1 });
  expect(await recorder.write([resultDraft(runId, run.sessionId)])).toMatchObject({ leg: 'open' });
  const { state } = await foldLog(services, run);
  for (let leg = 'open'; leg === 'open';)
    leg = (await recorder.write(closeRun(state, { status: 'cancelled' }, 5)))?.leg ?? 'over';
  recorder.close();
  const replay = createFrameFeeds(log).follow(
    { ...run, reinsEvents: true },
    { after: -1, signal: AbortSignal.timeout(5_000) },
  );
  let last = -1;
  for await (const batch of replay) last = batch.last;
  expect(given.at(-1)).toMatchObject({ last, terminal: true });
  await log.close();
});

/** A server with a bucket, in which it is told what happens. */
async function withBucket() {
  const services = await open();
  const dataDir = await mkdtemp(join(tmpdir(), 'reins-recorder-'));
  folders.push(dataDir);
  const blobs = { ...createFolderBlobs(join(dataDir, 'bucket')), place: 'bucket' } as const;
  const workspaces = createWorkspaces({ dataDir });
  const files = createSessionFiles({ dataDir, workspaces, blobs, maxBytes: 1e6, maxFiles: 10 });
  const admission = admissionOf('x', { owner: services.owner });
  await services.store.admit(admission);
  const { runId, sessionId } = admission;
  const run = await services.store.run(runId);
  if (run === null) throw new Error('It was admitted.');
  await files.settle(run, { after: null, how: 'begin' });
  await files.begin(run);
  await writeFile(join(await workspaces.ensure(sessionId), 'made'), 'here');
  const moved = { ...services, files, workspaces };
  const say = async (messageId: string) => {
    const data = { messageId, content: [{ type: 'text', text: messageId }], mode: 'steer' } as const;
    await services.store.appendFact(factOf({ type: 'user-message', step: 0, attempt: 0, data }, admission));
  };
  const recorder = createRunRecorder(moved, run, { ...(await foldLog(services, run)), leg: 1 });
  onTestFinished(() => recorder.close());
  const stored = async () => (await Array.fromAsync(blobs.list('files'), ({ key }) => key)).toSorted();
  return { services: moved, run, recorder, blobs, stored, say };
}

test('E-801, M1: who has lost a run while it stood still writes nothing of its files, and parks nothing', async () => {
  const { services, run, recorder, blobs, stored } = await withBucket();
  const { runId, sessionId } = run;
  await services.store.takeOver(runId, 'another');
  const parked = blobKey('files', sessionId, 'parked', `${runId}.json`);
  await blobs.put(parked, new TextEncoder().encode('of another'));
  await expect(recorder.write([resultDraft(runId, sessionId)])).rejects.toThrow(LeaseLostError);
  expect(await stored()).toEqual([parked]);
  // Taken back, under another generation, it is no more that of then.
  await services.store.takeOver(runId, services.owner);
  await parkFolder(services, run);
  expect(await readBlobText(blobs, parked)).toBe('of another');
  const next = { sessionId, runId: runIds.make('next') };
  const settled = await services.files.settle(next, { after: run, how: 'begin' });
  expect(settled).toEqual({ at: 'elsewhere', why: 'not-stored' });
});

test('M2: what a run had parked goes when its end is stored, and not for one that was overtaken', async () => {
  const { services, run, recorder, stored, say } = await withBucket();
  const { runId, sessionId } = run;
  await parkFolder(services, run);
  const parked = `files/${sessionId}/parked/${runId}.json`;
  await say('m');
  expect(await recorder.write([resultDraft(runId, sessionId)])).toMatchObject({ leg: 'open' });
  expect(await stored()).toContain(parked);
  expect(await recorder.write([resultDraft(runId, sessionId)])).toMatchObject({ leg: 'over' });
  await expect.poll(stored).not.toContain(parked);
  const next = { sessionId, runId: runIds.make('next') };
  expect(await services.files.settle(next, { after: run, how: 'begin' })).toEqual({ at: 'here' });
});

test.each([
  ['too much', 'not-whole', (root: string) => link(join(root, 'made'), join(root, '..', 'outside'))],
  ['not to be reached just then', 'failed', null],
])('M1: a directory that is %s is parked as being here alone, whatever was parked before', async (_, why, change) => {
  const { services, run, blobs } = await withBucket();
  const { runId, sessionId } = run;
  await parkFolder(services, run);
  const root = await services.workspaces.ensure(sessionId);
  await writeFile(join(root, 'made'), 'more');
  await change?.(root);
  const { put } = blobs;
  let isAway = change === null;
  Object.assign(blobs, {
    put: (...given: Parameters<typeof put>) => {
      const [wasAway] = [isAway];
      isAway = false;
      return wasAway ? Promise.reject(new FilesUnavailableError('unreachable')) : put(...given);
    },
  });
  await parkFolder(services, run);
  const parked = await readBlobText(blobs, blobKey('files', sessionId, 'parked', `${runId}.json`));
  expect(parseNotStored(parked)).toMatchObject({ notStored: why });
});

/** A run that was left in the middle, with a log of which so many events can be read. */
async function damagedRun(sound: number) {
  const services = await open();
  const { runId } = await accept(services, 'Count slowly from 1 to 50, one number per line');
  const run = async () => services.store.run(runId);
  await expect.poll(async () => (await run())?.lastSeq ?? 0, { timeout: 10_000 }).toBeGreaterThan(3);
  services.runs.stop(runId, 'shutdown');
  await services.runs.ended(runId);
  const store: Store = {
    ...services.store,
    async readEvents(id, range) {
      const events = await services.store.readEvents(id, range);
      if (range.after >= (left?.lastSeq ?? 0)) return events;
      const whole = events.filter(({ seq }) => seq <= sound);
      if (whole.length === 0) throw new DamageError('Damaged.');
      return whole;
    },
  };
  const left = await run();
  return { services: over(services, store), runId, run };
}

test.each([0, 2])(
  'R4, E-804: a run ends, failed, and its session is free, where %i events can be read',
  async (sound) => {
    const { services, runId, run } = await damagedRun(sound);
    expect(await recoverRuns(services)).toBe(1);
    await services.runs.ended(runId);
    const ended = await run();
    expect(ended).toMatchObject({ status: 'failed', response: sound === 0 ? null : { status: 'failed' } });
    if (ended !== null) expect(await services.store.session(ended.sessionId)).toMatchObject({ runningRunId: null });
  },
);

test('R4, E-815: a run whose log is damaged can be cancelled', async () => {
  const { services, runId, run } = await damagedRun(2);
  await stopRun(services, runId);
  expect(await run()).toMatchObject({ status: 'cancelled' });
});

test('E-819: a run that was resumed while others were looked at stays resumed', async () => {
  const services = await open();
  const { runId } = await accept(services, 'Count slowly from 1 to 3, one number per line');
  await pauseRun(services, 'owner', runId);
  await services.runs.ended(runId);
  const { ownership } = services;
  let isResumed = false;
  const living = async () => {
    if (!isResumed) isResumed = await resumeRun(services, 'owner', runId);
    return ownership.living();
  };
  await recoverRuns({ ...services, ownership: { ...ownership, living } });
  await services.runs.ended(runId);
  expect([isResumed, await services.store.run(runId)]).toMatchObject([true, { status: 'completed' }]);
});
