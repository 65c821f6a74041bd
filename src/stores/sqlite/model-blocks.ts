import type { Store } from '../store.ts';
import { write, type Database } from './database.ts';
import { modelBlock, readable } from '../rows/records.ts';

const upsertBlock = `
  INSERT INTO model_blocks (provider, model, until) VALUES (?, ?, ?)
  ON CONFLICT (provider, model) DO UPDATE SET until = excluded.until`;

export function modelBlockMethods(db: Database): Pick<Store, 'putModelBlock' | 'modelBlocks'> {
  return {
    async putModelBlock({ provider, model }, untilMs) {
      if (untilMs === null) write(db, 'DELETE FROM model_blocks WHERE provider = ? AND model = ?', provider, model);
      else write(db, upsertBlock, provider, model, Math.ceil(untilMs));
    },
    modelBlocks: async () => readable(db.all('SELECT * FROM model_blocks'), modelBlock),
  };
}
