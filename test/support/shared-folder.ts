// One data folder, one model, and as many servers on it as a test starts: real processes, which can be stopped and killed.

import { addHarness, startLeased, startProcess, type ServerProcess } from './server.ts';
import { type RunEvent } from '../../src/core/run-event.ts';
import { allowAll, type RunPermissions } from '../../src/core/run-config.ts';
import type { Attachment } from './uhp.ts';
import type { SeenFrame } from './event-stream.ts';
import { createGate, hold, reply, startModel, text, type Gate, type Replies, type TestModel } from './model.ts';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { openSqlite } from '../../src/stores/sqlite/open-sqlite.ts';
import { runIds } from '../../src/core/ids.ts';
import { temporaryFolder } from '../reins-process.ts';
import { writeFileSync } from 'node:fs';

export interface SharedFolder {
  readonly data: string;
  readonly gate: Gate;
  readonly model: TestModel;
  start(): Promise<ServerProcess>;
  startLeased(leaseMs: number): Promise<ServerProcess>;
  /** The log of a task, read beside the servers. */
  logOf(id: string): Promise<readonly RunEvent[]>;
}

export interface SharedFolderOptions {
  readonly replies?: Replies;
  readonly settings?: object;
  /** Of the owner's harness; absent: whatever a first start makes. */
  readonly permissions?: Partial<RunPermissions>;
}

/** Tasks `held…` stand after their first word until the gate is open. */
export async function shareFolder({
  replies = {},
  settings = {},
  permissions,
}: SharedFolderOptions = {}): Promise<SharedFolder> {
  const [data, gate] = [temporaryFolder(), createGate()];
  const held = [reply(text('first '), hold, text('second'))];
  const model = await startModel((asked) => replies[asked] ?? (asked.startsWith('held') ? held : undefined), gate);
  onTestFinished(() => model[Symbol.asyncDispose]());
  writeFileSync(join(data, 'config.json'), JSON.stringify({ ...model.settings, ...settings }));
  if (permissions !== undefined) await addHarness(data, 'owner', { permissions: { ...allowAll, ...permissions } });
  return {
    data,
    gate,
    model,
    start: () => startProcess(data, model.env),
    startLeased: (leaseMs) => startLeased(data, { leaseMs, env: model.env }),
    async logOf(id) {
      await using store = openSqlite(join(data, 'reins.db'));
      return store.readEvents(runIds.parse(id) ?? runIds.make(''), { after: 0, limit: 10_000 });
    },
  };
}

/** Reads a stream in the background; what has come is there at any time. */
export function watch({ frames }: Attachment) {
  const seen: SeenFrame[] = [];
  const over = (async () => {
    for await (const frame of frames) seen.push(frame);
  })();
  return { seen, over };
}

/** Starts a task that nobody waits for; gives its id. */
export const begin = async ({ uhp }: ServerProcess, input: string, headers = {}) =>
  (await uhp.create({ input, background: true }, headers)).body.id;
