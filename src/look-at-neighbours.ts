// What a server with these settings has elsewhere beside its database: a bucket for files, a Temporal for its tasks. For
// `reins doctor`: reads only.

import { bucketOf, whyNoFiles } from './open-blobs.ts';
import { beware, well, wrong, type Finding } from './finding.ts';
import { ConfigurationError } from './core/errors.ts';
import { lookAtScheduler } from './open-scheduler.ts';
import { reasonOf } from './reason-of.ts';
import { systemClock } from './system.ts';
import type { Config } from './config.ts';

const withinMs = 5_000;

export async function lookAtNeighbours(config: Config): Promise<readonly Finding[]> {
  const findings = await Promise.all([bucketFinding(config), temporalFinding(config)]);
  return findings.filter((finding) => finding !== null);
}

async function bucketFinding(config: Config): Promise<Finding | null> {
  const [what, { url }] = ['bucket', config.files];
  if (url === null) return null;
  try {
    await using blobs = await bucketOf(url, config, systemClock);
    for await (const name of blobs.names('uploads')) if (name !== '') break;
    return well(what, 'that of REINS_FILES_URL can be listed; each start of a server tries to write into it.');
  } catch (cause) {
    if (cause instanceof ConfigurationError) return wrong(what, cause.message);
    return wrong(what, `that of REINS_FILES_URL cannot be listed: ${whyNoFiles(cause)}.`);
  }
}

async function temporalFinding(config: Config): Promise<Finding | null> {
  const [what, { address, namespace, taskQueue }] = ['Temporal', config.temporal];
  try {
    const seen = await lookAtScheduler(config, { clock: systemClock, withinMs });
    if (seen === null) return null;
    const told = `${seen.server} at ${address} answers, namespace ${namespace}, queue ${taskQueue}`;
    if (seen.workers > 0) return well(what, `${told}: ${seen.workers} ${seen.workers === 1 ? 'worker' : 'workers'}.`);
    return beware(what, `${told}: nobody works there, and tasks wait until somebody does (reins worker).`);
  } catch (cause) {
    if (cause instanceof ConfigurationError) return wrong(what, cause.message);
    return wrong(
      what,
      `at ${address}, namespace ${namespace}: ${reasonOf(cause)}. Tasks of the engine wait meanwhile.`,
    );
  }
}
