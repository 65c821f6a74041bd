import { modelBlock, ownerRecord, readable } from '../rows/records.ts';
import type { Store } from '../store.ts';
import { channel } from './channel.ts';
import { write, type Database } from './database.ts';

const upsertOwner = `
  INSERT INTO owners (owner, place, pid, start_ticks, seen_at) VALUES ($1, $2, $3, $4, $5)
  ON CONFLICT (owner) DO UPDATE SET seen_at = excluded.seen_at`;

/** Whether somebody else was there when the owners were last read, or was heard since; before that there may be. */
export interface Company {
  isAlone: boolean;
}

export interface OwnersOptions {
  readonly db: Database;
  /** Has a connection of its own, so that no load on the others lets a lease end (E-825). */
  readonly lease: Database;
  /** Is kept. */
  readonly company: Company;
}

export function ownerMethods({
  db,
  lease,
  company,
}: OwnersOptions): Pick<Store, 'putOwner' | 'owners' | 'removeOwner'> {
  const own = new Set<string>();
  return {
    async putOwner({ owner, place, pid, startTicks, seenAtMs }) {
      const isNew = !own.has(owner);
      own.add(owner);
      await lease.transaction('fast', async (tx) => {
        await tx.run(upsertOwner, owner, place, pid, startTicks, seenAtMs);
        // Who was alone until now is to tell of its runs from here on.
        if (isNew) await tx.run('SELECT pg_notify($1, $2)', channel, '');
      });
    },
    async owners() {
      const owners = readable(await db.all('SELECT * FROM owners'), ownerRecord);
      company.isAlone = owners.every(({ owner }) => own.has(owner));
      return owners;
    },
    async removeOwner({ owner, seenAtMs }) {
      const sql = 'DELETE FROM owners WHERE owner = $1 AND seen_at = $2';
      await db.transaction('fast', (tx) => tx.run(sql, owner, seenAtMs));
    },
  };
}

const upsertBlock = `
  INSERT INTO model_blocks (provider, model, until) VALUES ($1, $2, $3)
  ON CONFLICT (provider, model) DO UPDATE SET until = excluded.until`;

export function modelBlockMethods(db: Database): Pick<Store, 'putModelBlock' | 'modelBlocks'> {
  return {
    async putModelBlock({ provider, model }, untilMs) {
      if (untilMs !== null) await write(db, upsertBlock, provider, model, Math.ceil(untilMs));
      else await write(db, 'DELETE FROM model_blocks WHERE provider = $1 AND model = $2', provider, model);
    },
    modelBlocks: async () => readable(await db.all('SELECT * FROM model_blocks'), modelBlock),
  };
}
