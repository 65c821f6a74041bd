import { writeFileSync } from 'node:fs';
import { Session } from 'node:inspector/promises';
import { join } from 'node:path';

/** Profiles this process from now on; `stop` writes what it saw into a new file of the folder. */
export async function startProfile(folder: string): Promise<{ stop(): Promise<void> }> {
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.start');
  return {
    async stop() {
      const { profile } = await session.post('Profiler.stop');
      session.disconnect();
      writeFileSync(join(folder, `${process.pid}-${Date.now()}.cpuprofile`), JSON.stringify(profile));
    },
  };
}
