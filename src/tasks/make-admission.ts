import type { AttachedTurn, TaskPlace, TaskRequest } from './accept-task.ts';
import type { Place } from './find-place.ts';
import { readHistory } from './read-history.ts';
import { keptItems } from './input-items.ts';
import { namedUploads, type FilesOwner, type TakenIn } from './take-in-files.ts';
import { limitsOf, withinQuota } from './task-limits.ts';
import { admissionLimits, type QuotaLeft } from './principal-limits.ts';
import { runConfigOf } from './run-config.ts';
import { allowAll } from '../core/run-config.ts';
import { sessionTitle } from '../core/session-title.ts';
import type { Admission } from '../stores/admission.ts';
import type { RunStarted, TaskFacts } from '../core/run-event.ts';
import type { RunConfig } from '../core/run-config.ts';
import type { Services } from './services.ts';

/** A run that works for another one (E-905). */

type AdmittedTask = TaskRequest & FilesOwner & TakenIn;
type AdmittedPlace = TaskPlace & { readonly quota: QuotaLeft };

/** What the store is asked to take in for a task: its session, its charge, and its first event with all that its run is. */
export async function makeAdmission(services: Services, task: AdmittedTask, place: AdmittedPlace): Promise<Admission> {
  const { principal, body, messages, idempotency, queued, child, runId, sessionId } = task;
  const { harness, session, previousRunId, fork } = place;
  const { clock, owner } = services;
  const atMs = clock.now();
  const data = await beginningFor(services, task, { ...place, atMs });
  const title = sessionTitle(messages[0]?.content.find((part) => part.type === 'text')?.text ?? '');
  return {
    runId,
    sessionId,
    harnessId: harness.harnessId,
    principal,
    ...(session === null ? { newSession: { title, ...(await forkOf(services, fork)) } } : {}),
    previousRunId,
    store: body.store,
    uploads: namedUploads(messages),
    owner,
    ...(idempotency === null ? {} : { idempotency }),
    ...(queued === undefined ? {} : { queued }),
    ...(child === undefined ? admissionLimits(services, { principal, atMs }) : { parentRunId: child.parent.runId }),
    events: [{ v: 1, runId, sessionId, at: atMs, leg: 1, step: 0, attempt: 0, type: 'run-started', data }],
    atMs,
  };
}

async function beginningFor(
  services: Services,
  task: AdmittedTask,
  { atMs, ...place }: AdmittedPlace & { readonly atMs: number },
): Promise<RunStarted> {
  const { body, messages, idempotency, child, cause = 'submit' } = task;
  const { harness, model } = place;
  const agent = services.harnesses.adapter(harness.base)?.agent;
  const own =
    agent === undefined ? limitsOf(services, { body, harness, model: model.ref }) : agent.limits(body.limits ?? {});
  const { limits, quota } = withinQuota(own, place.quota);
  return {
    leg: 1,
    cause,
    ...(messages.length === 0 ? {} : { input: messages }),
    task: { ...factsOf(services, task, { ...place, atMs }), ...(quota.length === 0 ? {} : { quota }) },
    _config: configFor(task, agent?.config ?? (await runConfigOf(services, harness, body))),
    ...(agent === undefined ? {} : { agent: agent.ref }),
    ...(child === undefined ? {} : { parent: child.parent }),
    ...(idempotency === null ? {} : { requestId: idempotency.key }),
    model: model.ref,
    limits,
  };
}

function factsOf(
  { settings }: Services,
  { body, refs, queued }: AdmittedTask,
  { harness, previousRunId, fork, model, atMs }: AdmittedPlace & { readonly atMs: number },
): TaskFacts {
  return {
    harnessId: harness.harnessId,
    createdAt: Math.floor(atMs / 1000),
    metadata: queued === undefined ? body.metadata : { ...body.metadata, reins_message_id: queued.messageId },
    ignoredFields: body.ignoredFields,
    store: body.store,
    background: body.background,
    previousResponseId: previousRunId,
    reinsEvents: body.reinsEvents,
    view: 1,
    inputItems: keptItems(body.inputItems, refs),
    linkBase: settings.linkBase(),
    ...(fork === null ? {} : { forkedFrom: fork.runId }),
    ...(model.fallback === undefined ? {} : { modelFallback: model.fallback }),
  };
}

function configFor({ attached, child }: AdmittedTask, plain: RunConfig): RunConfig {
  const config = attached === undefined ? plain : attachedConfig(plain, attached);
  return child === undefined ? config : { ...config, permissions: child.permissions };
}

/** Nobody can be asked who could still be waited for. */
function attachedConfig(config: RunConfig, { withoutTools, ...own }: AttachedTurn): RunConfig {
  const { permissions = allowAll, disabledTools } = config;
  return {
    ...config,
    ...own,
    disabledTools: [...disabledTools, ...withoutTools],
    permissions: { ...permissions, unattended: true, questions: false, onUnknown: 'tell-model' },
  };
}

/** What a forked session begins with, of its own. */
async function forkOf(
  services: Services,
  fork: Place['fork'],
): Promise<Pick<NonNullable<Admission['newSession']>, 'fork'>> {
  if (fork === null) return {};
  const { runId, sessionId, turn } = fork;
  const history = await readHistory(services, { sessionId, turn: turn + 1 });
  // What is removed meanwhile may have been read in part; its task is then not admitted.
  const contents = JSON.stringify(history).match(/sha256:[0-9a-f]{64}/g) ?? [];
  return { fork: { from: runId, history, contents: [...new Set(contents)] } };
}
