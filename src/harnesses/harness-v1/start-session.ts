import { applyBootstrap } from './apply-bootstrap.ts';
import { isJsonObject, type JsonObject } from '../../core/json.ts';
import { isResumable } from './resume-state.ts';
import { resumeMs, unavailable, wholeStartMs } from '../foreign/start-step.ts';
import { RuntimeFault, type OpenNative } from '../foreign/runtime.ts';
import { sleep } from '../../core/clock.ts';
import { stopTree } from '../../process/stop-tree.ts';
import type { HarnessV1, ResumeState, SandboxSession, StartOptions, V1Session } from './harness-v1.ts';

interface StartParts {
  readonly label: string;
  readonly options: OpenNative;
  readonly sandbox: SandboxSession;
}

/**
 * What cannot be gone on from is begun anew, and says so by not being resumed (H-071).
 * @throws RuntimeFault  Nothing of it is left behind.
 */
export async function startSession(adapter: HarnessV1, parts: StartParts): Promise<V1Session> {
  const { label, options, sandbox } = parts;
  const { clock, logger, marker, resume, sessionId, signal } = options;
  try {
    await applyBootstrap(adapter, sandbox, signal);
    const state = await resumeStateOf(resume?.data, adapter);
    const session = (state === null ? null : await resumed(adapter, parts, state)) ?? (await begin(adapter, parts, {}));
    // From here on the state is behind: without a stop that says where it stands, nothing is resumed from it.
    await options.remember({ nativeId: sessionId, version: null });
    return session;
  } catch (cause) {
    await stopTree({ marker, root: null }, { clock, graceMs: 0 });
    logger.warn('A harness did not start.', { harness: label, cause: String(cause) });
    throw cause instanceof RuntimeFault ? cause : unavailable(`${label} was not ready for work.`, cause);
  }
}

function resumed(adapter: HarnessV1, parts: StartParts, resumeFrom: ResumeState): Promise<V1Session | null> {
  return begin(adapter, parts, { resumeFrom }).catch((cause: unknown) => {
    parts.options.logger.warn('A harness was not resumed.', { harness: parts.label, cause: String(cause) });
    return null;
  });
}

async function begin(
  adapter: HarnessV1,
  { label, options, sandbox }: StartParts,
  how: Pick<StartOptions, 'resumeFrom'>,
): Promise<V1Session> {
  const { clock, config, sessionId, signal, workspace } = options;
  const ms = how.resumeFrom === undefined ? wholeStartMs : resumeMs;
  const late = new AbortController();
  const settled = new AbortController();
  const limit = sleep(clock, ms, AbortSignal.any([signal, settled.signal])).then(() => {
    late.abort();
    throw unavailable(
      signal.aborted ? `The start of ${label} was stopped.` : `${label} was not ready within ${ms / 1_000} s.`,
    );
  });
  limit.catch(() => undefined);
  const denied = config.disabledTools.filter((name) => Object.hasOwn(adapter.builtinTools, name));
  const isFiltered = adapter.supportsBuiltinToolFiltering === true && denied.length > 0;
  try {
    const started = adapter.doStart({
      ...how,
      sessionId,
      sandboxSession: sandbox,
      sessionWorkDir: workspace,
      // As much as it lets be decided is decided here, call by call (H-040).
      permissionMode: adapter.supportsBuiltinToolApprovals === true ? 'allow-reads' : 'allow-all',
      ...(isFiltered ? { builtinToolFiltering: { mode: 'deny', toolNames: denied } } : {}),
      abortSignal: AbortSignal.any([signal, late.signal]),
    });
    return await Promise.race([started, limit]);
  } finally {
    settled.abort();
  }
}

async function resumeStateOf(data: JsonObject | undefined, adapter: HarnessV1): Promise<ResumeState | null> {
  if (data === undefined || !isJsonObject(data) || !(await isResumable(data, adapter))) return null;
  const { harnessId, specificationVersion } = adapter;
  return { type: 'resume-session', specificationVersion, harnessId, data: data['data'] ?? null };
}
