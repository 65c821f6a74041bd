import { buildSetup } from './build-setup.ts';
import { findHarness } from './find-in-scope.ts';
import { harnessIds } from '../core/ids.ts';
import { InvalidInputError, RequestError } from '../core/errors.ts';
import { plainSetup, type Bundle, type HarnessRecord } from '../stores/harness-record.ts';
import { viewOf, type HarnessView } from './read-harnesses.ts';
import type { HarnessAdapter } from '../harnesses/harness.ts';
import type { HarnessBody } from './harness-body.ts';
import type { RunPermissions } from '../core/run-config.ts';
import type { Services } from './services.ts';

/** @throws RequestError  Nothing was stored (U-106). */
export async function createHarness(services: Services, principal: string, body: HarnessBody): Promise<HarnessView> {
  const { clock, random, store } = services;
  const adapter = await requireBase(services, body.base ?? null);
  const blank: HarnessRecord = {
    harnessId: harnessIds.make(random.token()),
    principal,
    name: adapter.label,
    base: adapter.base,
    defaultModel: null,
    systemPrompt: null,
    disabledTools: [],
    permissions: null,
    planning: null,
    maxStep: null,
    timeoutSeconds: null,
    setup: plainSetup,
    createdAtMs: clock.now(),
    deleted: false,
  };
  const { record, bundles } = await change(services, { adapter, body, current: blank });
  await store.putHarness(record, bundles);
  return viewOf(services, record);
}

/** What is running keeps what it began with (UD-35). @throws RequestError  Nothing was changed (U-106). */
export async function updateHarness(
  services: Services,
  principal: string,
  { harnessId, body }: { readonly harnessId: string; readonly body: HarnessBody },
): Promise<HarnessView> {
  const { store } = services;
  for (;;) {
    const current = await findHarness(services, principal, { name: harnessId });
    if ((body.base ?? current.base) !== current.base)
      throw new InvalidInputError('The base of a harness cannot be changed; make another harness.', 'base');
    const adapter = await requireBase(services, current.base);
    const { record, bundles } = await change(services, { adapter, body, current });
    // What another write has said meanwhile about other fields, here or at another server, shall stay; one that deleted it, too.
    if (await store.putHarness(record, bundles, current)) return viewOf(services, record);
  }
}

interface Change {
  readonly adapter: HarnessAdapter;
  readonly body: HarnessBody;
  readonly current: HarnessRecord;
}

async function change(
  services: Services,
  { adapter, body, current }: Change,
): Promise<{ readonly record: HarnessRecord; readonly bundles: readonly Bundle[] }> {
  const { principal } = current;
  const { setup, bundles } = await buildSetup(services, { principal, adapter, body, current: current.setup });
  const { name, defaultModel, systemPrompt, disabledTools, maxStep, timeoutSeconds } = body;
  const record = {
    ...current,
    ...(name === undefined ? {} : { name: name ?? adapter.label }),
    // A text that reads as empty was none, and is written back as it was read.
    ...(defaultModel === undefined ? {} : { defaultModel: defaultModel || null }),
    ...(systemPrompt === undefined ? {} : { systemPrompt: systemPrompt || null }),
    ...(disabledTools === undefined ? {} : { disabledTools: disabledTools ?? [] }),
    ...(maxStep === undefined ? {} : { maxStep }),
    ...(timeoutSeconds === undefined ? {} : { timeoutSeconds }),
    permissions: permissionsOf(services, body, current.permissions),
    setup,
  };
  return { record, bundles };
}

/** Null as long as nobody has written any of them: then the server's settings hold (UR-02). */
function permissionsOf(
  { settings }: Services,
  { permissionMode, toolPermissions, onUnknown, questions }: HarnessBody,
  current: RunPermissions | null,
): RunPermissions | null {
  const sent = [permissionMode, toolPermissions, onUnknown, questions];
  if (sent.every((value) => value === undefined)) return current;
  const plain = settings.permissions;
  const old = current ?? { ...plain, expiresAfterSeconds: null };
  return {
    ...old,
    mode: permissionMode === undefined ? old.mode : (permissionMode ?? plain.mode),
    tools: toolPermissions === undefined ? old.tools : (toolPermissions ?? plain.tools),
    onUnknown: onUnknown === undefined ? old.onUnknown : (onUnknown ?? plain.onUnknown),
    questions: questions === undefined ? old.questions : (questions ?? plain.questions),
  };
}

/** The adapter of a base that can be used here. @throws RequestError  `unsupported_base`, with those that can (UD-41). */
async function requireBase({ harnesses }: Services, base: string | null): Promise<HarnessAdapter> {
  if (base === null) throw new InvalidInputError('A harness needs a base.', 'base');
  const adapter = harnesses.adapter(base);
  if (adapter !== undefined && (await isUsable(adapter))) return adapter;
  const usable = await Promise.all(
    harnesses.bases.map(async (name) => {
      const other = harnesses.adapter(name);
      return other !== undefined && (await isUsable(other)) ? [name] : [];
    }),
  );
  throw new RequestError({
    status: 422,
    errorType: 'invalid_request_error',
    code: 'unsupported_base',
    message: await whyUnsupported(adapter),
    param: 'base',
    detail: { supported: usable.flat() },
  });
}

/** A base that is only not here yet is told from one that nobody knows. */
async function whyUnsupported(adapter: HarnessAdapter | undefined): Promise<string> {
  if (adapter === undefined || adapter.agent !== undefined)
    return 'This server knows no such harness base; detail.supported lists those it has.';
  const { problem } = await adapter.probe();
  const why = problem?.message ?? 'Its program is not installed.';
  return `This server knows this harness base, but cannot run it now: ${why.replace(/\.$/, '')}. On its machine, reins harnesses tells more.`;
}

/** An agent that was put together in code is configured there. */
async function isUsable(adapter: HarnessAdapter): Promise<boolean> {
  return adapter.agent === undefined && (await adapter.probe()).installed;
}
