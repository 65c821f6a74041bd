import { modelBlock, ownerRecord, readable } from '../rows/records.ts';
import type { Store } from '../store.ts';
import { write, type Database } from './database.ts';

const upsertOwner = `
  INSERT INTO owners (owner, place, pid, start_ticks, seen_at) VALUES ($1, $2, $3, $4, $5)
  ON CONFLICT (owner) DO UPDATE SET seen_at = excluded.seen_at`;

/** @param lease  Has a connection of its own, so that no load on the others lets a lease end (E-825). */
export function ownerMethods(db: Database, lease: Database): Pick<Store, 'putOwner' | 'owners' | 'removeOwner'> {
  return {
    async putOwner({ owner, place, pid, startTicks, seenAtMs }) {
      await lease.transaction('fast', (tx) => tx.run(upsertOwner, owner, place, pid, startTicks, seenAtMs));
    },
    owners: async () => readable(await db.all('SELECT * FROM owners'), ownerRecord),
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
