import { afterAll, expect, test } from 'vitest';
import { createHomes, type Home } from './homes.ts';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { listMembers, systemScan } from '../../process/process-tree.ts';
import { sessionIds } from '../../core/ids.ts';
import { startProcess } from '../../process/start-process.ts';
import { stopTree } from '../../process/stop-tree.ts';
import { systemClock, systemRandom } from '../../system.ts';
import { thisProcess } from '../../process/process-identity.ts';
import { tmpdir } from 'node:os';

const root = mkdtempSync(join(tmpdir(), 'reins-homes-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

let folders = 0;
/** Two servers over one folder. */
function rig() {
  const parts = { root: join(root, `${(folders += 1)}`), clock: systemClock, random: systemRandom };
  const [a, b] = [createHomes(parts), createHomes(parts)];
  const file = (name: string) => join(parts.root, sessionIds.make(name), 'pi.json');
  const noteOf = (name: string) => JSON.parse(readFileSync(file(name), 'utf8'));
  const ownedBy = (name: string, owner: unknown) =>
    writeFileSync(file(name), JSON.stringify({ ...noteOf(name), owner }));
  return { a, b, noteOf, ownedBy, folder: (name: string) => join(parts.root, sessionIds.make(name)) };
}

const session = sessionIds.make('one');
const gone = { ...thisProcess(), startTicks: 1 };
const elsewhere = { ...thisProcess(), place: 'elsewhere' };
const runIn = ({ marker }: Home) =>
  startProcess({ clock: systemClock, program: '/bin/sleep', args: ['1000'], cwd: '/', env: {}, marker });
const stop = (marker: string) => stopTree({ marker, root: null }, { clock: systemClock, graceMs: 0 });
const members = async (marker: string) => (await listMembers({ marker, root: null })).length;

test('H-070: what is remembered is there for the next one, and nothing of it is left half-written', async () => {
  const { a, b, folder } = rig();
  const home = await a.open(session, 'pi');
  expect(home.state).toBeNull();
  const states = ['1', '2', '3', '4'].map((nativeId) => ({ nativeId, version: null }));
  await Promise.all(states.map((state) => home.remember(state)));
  expect(states).toContainEqual((await b.open(session, 'pi')).state);
  expect(readdirSync(folder('one')).toSorted()).toEqual(['pi', 'pi-tmp', 'pi.json']);
});

test('O2: who does not own the home any more does not write its note', async () => {
  const { a, noteOf, ownedBy } = rig();
  const home = await a.open(session, 'pi');
  ownedBy('one', elsewhere);
  await home.remember({ nativeId: 'late', version: null });
  await a.leave();
  expect(noteOf('one')).toMatchObject({ owner: elsewhere, state: null });
  await a.forget(session);
  await home.remember({ nativeId: 'later', version: null });
  expect(existsSync(join(home.path, '..'))).toBe(false);
});

test.skipIf(systemScan !== 'proc')(
  'O1: each start is stopped alone, and all of a home by what they share',
  async () => {
    const { a, b, noteOf } = rig();
    const homes = [await a.open(session, 'pi'), await b.open(session, 'pi')] as const;
    using _one = await runIn(homes[0]);
    using _other = await runIn(homes[1]);
    expect(await members(noteOf('one').marker)).toBe(2);
    await stop(homes[0].marker);
    expect([await members(homes[0].marker), await members(homes[1].marker)]).toEqual([0, 1]);
    expect(await b.endLeftovers()).toBe(0); // its owner lives
    await b.forget(session);
    expect(await members(homes[1].marker)).toBe(0);
  },
);

test.skipIf(systemScan !== 'proc')(
  'O4, H-060: what another server keeps for a session is ended before this one opens it, or when its run is ended here',
  async () => {
    const { a, b, noteOf, ownedBy } = rig();
    const [home, own] = [await a.open(session, 'pi'), await b.open(sessionIds.make('own'), 'pi')] as const;
    using _kept = await runIn(home);
    using _own = await runIn(own);
    expect(await b.endElsewhere(session, 'pi')).toEqual([]);
    expect(await members(home.marker)).toBe(1); // of this very server
    ownedBy('one', elsewhere);
    expect(await b.endElsewhere(session, 'codex')).toEqual([]);
    expect(await b.endElsewhere(session, 'pi')).toEqual([]);
    expect([await members(home.marker), await members(own.marker)]).toEqual([0, 1]);
    using _again = await runIn(home);
    await b.open(session, 'pi');
    expect([await members(home.marker), noteOf('one').owner]).toEqual([0, thisProcess()]);
    await stop(own.marker);
  },
);

test.skipIf(systemScan !== 'proc')(
  'H-065, O3: what dead owners left is ended; what they left in order is not looked for',
  async () => {
    const { a, b, noteOf, ownedBy } = rig();
    const [left, reopened, tidy] = [
      await a.open(sessionIds.make('left'), 'pi'),
      await a.open(sessionIds.make('reopened'), 'pi'),
      await b.open(sessionIds.make('tidy'), 'pi'),
    ] as const;
    await b.leave();
    expect([noteOf('left').owner, noteOf('tidy').owner]).toEqual([thisProcess(), null]);
    using _left = await runIn(left);
    using _reopened = await runIn(reopened);
    using _tidy = await runIn(tidy);
    ownedBy('left', gone);
    ownedBy('reopened', gone);
    await b.open(sessionIds.make('reopened'), 'pi');
    expect(await members(reopened.marker)).toBe(0);
    expect(await b.endLeftovers()).toBe(1);
    expect([await members(left.marker), await members(tidy.marker)]).toEqual([0, 1]);
    await stop(tidy.marker);
  },
);
