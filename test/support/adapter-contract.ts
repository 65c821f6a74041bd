// What a turn of any `HarnessV1` adapter keeps behind `fromHarnessV1`, over a whole server (P-119).

import { checkLog } from '../../src/testing/check-log.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { join } from 'node:path';
import { openSqlite } from '../../src/stores/sqlite/open-sqlite.ts';
import { runIds } from '../../src/core/ids.ts';
import { startHarnessV1Server } from './harness-v1-server.ts';
import { setTimeout as pause } from 'node:timers/promises';
import { tmpdir } from 'node:os';
import { mkdtempSync, rmSync } from 'node:fs';
import type { HarnessV1 } from '../../src/harnesses/harness-v1/harness-v1.ts';
import type { RunEvent } from '../../src/core/run-event.ts';

/**
 * What the adapter's turn does, by what it is asked: says `Hello.`; never says anything; says `Half` and no more; runs the tool `wait`, which does
 * not end; asks whether `guarded` may run, runs it, and says `Done.`.
 */
export type Scenario = 'says' | 'silent' | 'half' | 'in-tool' | 'asks';

const guarding = { approvals: { permissionMode: 'allow-reads' } };

/** What is in the log when a turn has come as far as its scenario goes. */
const phases: Readonly<Record<Exclude<Scenario, 'says'>, RunEvent['type']>> = {
  silent: 'run-started',
  half: 'text-delta',
  'in-tool': 'turn-complete',
  asks: 'approval-required',
};

export function describeAdapterContract(name: string, open: () => HarnessV1): void {
  describe(`adapter contract: ${name}`, () => {
    let adapter: HarnessV1;
    let server: Awaited<ReturnType<typeof serveAdapter>>;
    beforeAll(async () => {
      adapter = open();
      server = await serveAdapter(adapter, guarding);
    }, 60_000);
    afterAll(() => server[Symbol.asyncDispose]());
    const begin = async (input: Scenario) => (await server.uhp.create({ input, background: true })).body;

    test('a turn has one result, and a log that keeps its laws', async () => {
      const { body } = await server.uhp.create({ input: 'says' });
      expect(body).toMatchObject({ status: 'completed', output: [{ content: [{ text: 'Hello.' }] }] });
      const log = await server.logOf(body.id);
      expect(checkLog(log)).toEqual([]);
      expect(log.filter(({ type }) => type === 'run-result').length).toBe(1);
    });

    test.each(['silent', 'half', 'in-tool', 'asks'] as const)(
      'a cancel ends it as cancelled, once: %s',
      async (scenario) => {
        const body = await begin(scenario);
        await server.saw(body.id, phases[scenario]);
        await server.uhp.cancel(body.id);
        expect((await server.settled(body.id))['status']).toBe('cancelled');
        const results = (await server.logOf(body.id)).filter(
          (event) => event.type === 'run-result' && event.data.status === 'cancelled',
        );
        expect(results.length).toBe(1);
      },
    );

    test('who leaves its stream leaves it at work', async () => {
      const body = await begin('asks');
      const stream = await server.uhp.attach(body.id);
      await stream.frames.next();
      stream.leave();
      expect((await server.decide(await server.asked(), 'approve')).status).toBe(200);
      expect((await server.settled(body.id))['status']).toBe('completed');
    });

    test('decided twice: the same is a success, and something else a conflict; the call runs once', async () => {
      const body = await begin('asks');
      const asked = await server.asked();
      const statuses: number[] = [];
      for (const decision of ['approve', 'approve', 'deny'])
        statuses.push((await server.decide(asked, decision)).status);
      expect(statuses).toEqual([200, 200, 409]);
      await server.settled(body.id);
      const results = (await server.logOf(body.id)).filter(({ type }) => type === 'tool-result');
      expect(results).toMatchObject([{ data: { name: 'guarded', isError: false } }]);
    });

    test('P-074: a state of another harness is refused before anything starts', async () => {
      const resumeFrom = {
        type: 'resume-session',
        specificationVersion: 'harness-v1',
        harnessId: 'another',
        data: { runId: null, seq: 0 },
      } as const;
      const abortSignal = new AbortController().signal;
      const options = { sessionId: 's', sessionWorkDir: '/', permissionMode: 'allow-all', abortSignal } as const;
      // Contract: nothing of the sandbox is touched.
      const start = adapter.doStart({ ...options, resumeFrom, sandboxSession: Object.create(null) });
      await expect(Promise.resolve(start)).rejects.toThrow();
    });
  });
}

export async function serveAdapter(adapter: HarnessV1, settings: { readonly approvals?: object } = {}) {
  const data = mkdtempSync(join(tmpdir(), 'reins-'));
  const server = await startHarnessV1Server(adapter, { ...settings, data, model: 'scripted-1' });
  const logOf = async (id: unknown): Promise<readonly RunEvent[]> => {
    await using store = openSqlite(join(data, 'reins.db'));
    const runId = runIds.parse(String(id));
    return runId === undefined ? [] : store.readEvents(runId, { after: 0, limit: 10_000 });
  };
  const until = async <T>(look: () => Promise<T | null>): Promise<T> => {
    for (;;) {
      const found = await look();
      if (found !== null) return found;
      await pause(10);
    }
  };
  return {
    uhp: server.uhp,
    logOf,
    saw: (id: unknown, type: RunEvent['type']) =>
      until(async () => (await logOf(id)).find((event) => event.type === type) ?? null),
    settled: (id: unknown) =>
      until(async () => {
        const { body } = await server.uhp.get(String(id));
        return body['status'] === 'in_progress' ? null : body;
      }),
    asked: () =>
      until(async () => {
        const { body } = await server.uhp.send('GET', '/v1/reins/approvals');
        const { approvals = [] } = body as { approvals?: { id: string; status: string }[] };
        return approvals.find(({ status }) => status === 'pending')?.id ?? null;
      }),
    decide: (id: string, decision: string) =>
      server.uhp.send('POST', `/v1/reins/approvals/${id}/decide`, { body: { decision } }),
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      rmSync(data, { recursive: true, force: true });
    },
  };
}
