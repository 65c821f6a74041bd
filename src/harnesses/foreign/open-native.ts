// A process of a runtime for one session: in its home, under a lease for its model calls, and under watch.

import { createRunMeter } from '../relay/run-meter.ts';
import { createRunawayWatch } from './runaway.ts';
import { harnessError } from './turn-endings.ts';
import { isDiskFull, isNoSpace } from '../../process/disk-full.ts';
import { RuntimeFault, type ForeignRuntime } from './runtime.ts';
import { startInTime } from './start-in-time.ts';
import type { ForeignParts, RuntimeExtras } from './foreign-parts.ts';
import type { Home } from './homes.ts';
import type { LeaseOptions } from '../relay/lease.ts';
import type { ModelRef } from '../../core/outcome.ts';
import type { RelayFact } from '../relay/relay-fact.ts';
import type { RunConfig } from '../../core/run-config.ts';
import type { SessionId } from '../../core/ids.ts';
import type { WarmProcess } from './warm-sessions.ts';

export interface OpenProcess {
  readonly runtime: ForeignRuntime;
  readonly parts: ForeignParts;
  readonly sessionId: SessionId;
  /** Absolute. */
  readonly workspace: string;
  readonly requested: ModelRef;
  readonly settings: RunConfig;
  readonly extras: RuntimeExtras;
  readonly signal: AbortSignal;
}

const diskFull = 'The disk of the server is full.';
/** From the wish to stop to the end of the model calls that are under way: most runtimes end them at once. */
const cutOffMs = 500;

/** @throws RuntimeFault */
export async function openNative(o: OpenProcess): Promise<WarmProcess> {
  const { runtime, parts, sessionId, workspace, requested, settings, extras } = o;
  const home = await parts.homes.open(sessionId, runtime.base).catch((cause: unknown) => {
    throw isNoSpace(cause) ? new RuntimeFault(harnessError(diskFull), { cause }) : cause;
  });
  const model = parts.models.nativeName(requested);
  const provider = runtime.providers.find((each) => each === requested.provider);
  if (provider === undefined)
    throw new RuntimeFault(harnessError(`${runtime.label} cannot be served by ${requested.provider}.`));
  const listeners = new Set<(fact: RelayFact) => void>();
  const meter = createRunMeter(parts.leaseBudget);
  const { url, lease, spoiled } = await openLease(o, {
    provider,
    models: runtime.auxiliaryModels === 'any' ? null : [model, ...(runtime.auxiliaryModels ?? [])],
    meter,
    onFact: (fact) => listeners.forEach((listener) => listener(fact)),
  });
  const watched = watchHome(o, home);
  const { whyEnded } = watched;
  const free = () => {
    watched[Symbol.dispose]();
    lease[Symbol.dispose]();
  };
  // To go on with an old session may come to nothing before a new one is begun.
  const seconds = parts.silence.firstSeconds * (home.state === null ? 1 : 2);
  try {
    const session = await startInTime(
      { label: runtime.label, clock: parts.clock, signal: o.signal, seconds },
      (signal) =>
        runtime.open({
          sessionId,
          workspace,
          home: home.path,
          temporary: home.temporary,
          marker: home.marker,
          model,
          config: settings,
          mcpServers: extras.mcpServers,
          skillFolders: extras.skillFolders,
          resume: home.state,
          remember: (native) => home.remember(native),
          lease: { url, token: lease.token, provider, onFact: (listener) => void listeners.add(listener) },
          signal,
          clock: parts.clock,
          random: parts.random,
          logger: parts.logger,
        }),
    );
    return {
      extras,
      spoiled,
      session: {
        resumed: session.resumed,
        gone: session.gone,
        turns: 0,
        meter,
        prompt: (input) => session.prompt(input),
        whyEnded,
        cutOff() {
          lease.close();
          parts.clock.timer(cutOffMs, () => lease.revoke());
        },
        async stop() {
          lease.revoke();
          // What could not be stopped stays under watch.
          const stopped = await session.stop();
          free();
          return stopped;
        },
      },
    };
  } catch (cause) {
    free();
    const why = await whyEnded();
    throw why === null ? cause : new RuntimeFault(harnessError(why), { cause });
  }
}

function watchHome({ runtime, parts, sessionId }: OpenProcess, { marker, path, temporary }: Home) {
  let excess: string | null = null;
  const watched = parts.watch?.add({
    marker,
    folders: [path, temporary],
    onExcess(what) {
      excess = `${runtime.label} ${what} and was stopped.`;
      parts.logger.warn('An agent went over a limit and was stopped.', { harness: runtime.base, sessionId, what });
    },
  });
  return {
    whyEnded: async () => excess ?? ((await isDiskFull(path)) ? diskFull : null),
    [Symbol.dispose]: () => watched?.[Symbol.dispose](),
  };
}

/** One that a runtime loses which calls its model again and again (H-112). */
async function openLease({ runtime, parts }: OpenProcess, options: LeaseOptions) {
  const relay = await parts.relay();
  const isRunaway = createRunawayWatch(parts.clock);
  const spoiled = Promise.withResolvers<void>();
  let isSpoiled = false;
  const lease = relay.lease({
    ...options,
    onFact(fact) {
      options.onFact(fact);
      if (!isRunaway(fact) || isSpoiled) return;
      isSpoiled = true;
      parts.logger.warn('An agent called its model again and again, and was cut off.', { harness: runtime.base });
      // Refused from now on, it ends its turn with a word; without its lease it is of no use after that.
      lease.revoke();
      spoiled.resolve();
    },
  });
  return { url: relay.url, lease, spoiled: spoiled.promise };
}
