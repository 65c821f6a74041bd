import type { Store } from '../store.ts';
import type { Database } from './database.ts';
import { ownerRecord, readable } from '../rows/records.ts';

const upsertOwner = `
  INSERT INTO owners (owner, place, pid, start_ticks, seen_at) VALUES (?, ?, ?, ?, ?)
  ON CONFLICT (owner) DO UPDATE SET seen_at = excluded.seen_at`;

/** Nothing here outlives a power cut, so nothing is synced for it. */
export function ownerMethods(db: Database): Pick<Store, 'putOwner' | 'owners' | 'removeOwner'> {
  return {
    async putOwner({ owner, place, pid, startTicks, seenAtMs }) {
      db.transaction('fast', (tx) => tx.run(upsertOwner, owner, place, pid, startTicks, seenAtMs));
    },
    owners: async () => readable(db.all('SELECT * FROM owners'), ownerRecord),
    async removeOwner({ owner, seenAtMs }) {
      db.transaction('fast', (tx) => tx.run('DELETE FROM owners WHERE owner = ? AND seen_at = ?', owner, seenAtMs));
    },
  };
}
