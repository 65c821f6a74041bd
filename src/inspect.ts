// What `reins doctor` tells: a look at everything that a server with these settings would need. Calls no model, writes
// nothing.

import { existsSync, readFileSync, statfsSync } from 'node:fs';
import { access, constants } from 'node:fs/promises';
import { createServer } from 'node:net';
import { X509Certificate } from 'node:crypto';
import { dirname, join } from 'node:path';
import { beware, well, wrong, type Finding } from './finding.ts';
import { ConfigurationError } from './core/errors.ts';
import type { Config } from './config.ts';
import { lookAtNeighbours } from './look-at-neighbours.ts';
import { lookAtSettings } from './look-at-settings.ts';
import { lookAtStore } from './look-at-store.ts';
import { openHarnesses } from './open-harnesses.ts';
import { openShell } from './open-shell.ts';
import { readTls } from './http/read-tls.ts';
import { systemClock, systemRandom } from './system.ts';
import type { HarnessRegistry } from './harnesses/registry.ts';
import type { HarnessStatus } from './harnesses/harness.ts';
import type { ProviderListing } from './engine/models/catalogue.ts';

export interface DoctorReport {
  readonly node: string;
  readonly dataDir: string;
  readonly findings: readonly Finding[];
  readonly providers: readonly ProviderListing[];
  /** What runs shell commands, and what it keeps them from. */
  readonly shell: string;
  readonly harnesses: readonly { readonly base: string; readonly label: string; readonly status: HarnessStatus }[];
}

/** The harnesses of a server with these settings, each looked at. */
export async function lookAtHarnesses(config: Config): Promise<DoctorReport['harnesses']> {
  await using installed = openHarnesses(config);
  return probeAll(installed.registry);
}

function probeAll(registry: HarnessRegistry): Promise<DoctorReport['harnesses']> {
  return Promise.all(
    registry.bases.flatMap((base) => {
      const adapter = registry.adapter(base);
      return adapter === undefined ? [] : [adapter.probe().then((status) => ({ base, label: adapter.label, status }))];
    }),
  );
}

export async function inspect(config: Config): Promise<DoctorReport> {
  await using installed = openHarnesses(config);
  const { registry, catalogue } = installed;
  const { dataDir } = config.server;
  const harnesses = await probeAll(registry);
  const findings = [
    await folderFinding(dataDir),
    await lookAtStore(config),
    ...(await lookAtNeighbours(config)),
    spaceFinding(dataDir),
    await addressFinding(config),
    ...tlsFindings(config),
    ...linkFindings(config),
    filesFinding(),
    ...lookAtSettings(config, catalogue),
    ...webhookFindings(config),
  ];
  return {
    node: process.version,
    dataDir,
    findings,
    providers: catalogue.providers(),
    shell: await shellOf(config),
    harnesses,
  };
}

/** Of /proc and /sys, where the owner of the machine seems to be allowed anything. */
const kernelFileSystems = [0x9fa0, 0x62656572];

async function folderFinding(dataDir: string): Promise<Finding> {
  const what = 'data folder';
  let there = dataDir;
  while (!existsSync(there) && dirname(there) !== there) there = dirname(there);
  try {
    await access(there, constants.W_OK | constants.X_OK);
  } catch {
    return wrong(what, `${there} cannot be written by this user: change its owner, or choose another with --data.`);
  }
  if (kernelFileSystems.includes(statfsSync(there).type))
    return wrong(what, `${there} is the kernel's and keeps no files: choose another with --data.`);
  return well(what, there === dataDir ? 'can be written.' : 'is made at the first start.');
}

const littleSpaceBytes = 1024 ** 3;

function spaceFinding(dataDir: string): Finding {
  const what = 'disk';
  let there = dataDir;
  while (!existsSync(there)) there = dirname(there);
  const { bavail, bsize } = statfsSync(there);
  const free = bavail * bsize;
  const amount = `${(free / littleSpaceBytes).toFixed(1)} GiB are free.`;
  return free < littleSpaceBytes ? beware(what, `${amount} Without space no task is taken.`) : well(what, amount);
}

async function addressFinding({ server: { host, port, dataDir } }: Config): Promise<Finding> {
  const what = 'address';
  const problem = await new Promise<string | null>((resolve) => {
    const probe = createServer();
    probe.once('error', (cause) => resolve('code' in cause ? String(cause.code) : cause.message));
    probe.listen({ host, port }, () => probe.close(() => resolve(null)));
  });
  if (problem === null) return well(what, `${host}:${port} is free.`);
  const here = join(dataDir, 'server.url');
  if (problem === 'EADDRINUSE' && existsSync(here)) {
    const url = readFileSync(here, 'utf8').trim();
    if (URL.parse(url)?.port === String(port)) return well(what, `a server of this folder answers at ${url}.`);
  }
  return problem === 'EADDRINUSE'
    ? beware(what, `${host}:${port} is in use by another program: choose another with --port.`)
    : wrong(what, `${host}:${port} cannot be taken (${problem}): choose another with --host and --port.`);
}

const soonMs = 14 * 86_400_000;

function tlsFindings({ server: { tls } }: Config): readonly Finding[] {
  if (tls === null) return [];
  try {
    const { cert } = readTls(tls, systemClock.now());
    const until = new X509Certificate(cert).validToDate;
    const message = `the certificate is good until ${until.toISOString()}.`;
    return [until.getTime() - systemClock.now() < soonMs ? beware('TLS', message) : well('TLS', message)];
  } catch (cause) {
    if (cause instanceof ConfigurationError) return [wrong('TLS', cause.message)];
    throw cause;
  }
}

/** Beyond loopback a key travels with each request. */
function linkFindings({ server: { host, publicUrl, tls } }: Config): readonly Finding[] {
  const loopback = /^(127\.|localhost$|::1$)/;
  const open = publicUrl === null ? !loopback.test(host) : !loopback.test(URL.parse(publicUrl)?.hostname ?? '');
  if (!open || tls !== null || publicUrl?.startsWith('https:') === true) return [];
  return [
    beware(
      'links',
      publicUrl === null
        ? `${host} is reachable from elsewhere without TLS, and links name that address: set server.tls, or a proxy in front and REINS_PUBLIC_URL.`
        : `${publicUrl} is reached without TLS: keys and texts can be read on the way.`,
    ),
  ];
}

const fewFiles = 4_096;

/** Each stream takes one. */
function filesFinding(): Finding {
  const what = 'open files';
  const limits = existsSync('/proc/self/limits') ? readFileSync('/proc/self/limits', 'utf8') : '';
  const soft = /^Max open files\s+(\d+)/m.exec(limits)?.[1];
  if (soft === undefined) return well(what, 'no limit is known.');
  return Number(soft) < fewFiles
    ? beware(what, `at most ${soft}, and each open stream takes one: raise it (ulimit -n, LimitNOFILE).`)
    : well(what, `at most ${soft}.`);
}

function webhookFindings({ webhooks }: Config): readonly Finding[] {
  if (!webhooks.allowLoopback) return [];
  return [beware('webhooks', 'webhooks.allowLoopback lets users make this machine call itself: for development only.')];
}

async function shellOf({ agent, server }: Config): Promise<string> {
  try {
    const parts = { clock: systemClock, random: systemRandom };
    const shell = await openShell({ ...agent.shell, hidden: [server.dataDir] }, parts);
    return shell === null ? 'off: the agent has no shell.' : shell.describe();
  } catch (cause) {
    if (cause instanceof ConfigurationError) return cause.message;
    throw cause;
  }
}
