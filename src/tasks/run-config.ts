import type { HarnessRecord } from '../stores/store.ts';
import type { RunConfig, RunPermissions } from '../core/run-event.ts';
import type { Services } from './services.ts';
import type { TaskBody } from './task-body.ts';

/** The agent as a task is admitted with it: a later edit of the harness does not reach it (UD-35). */
export function runConfigOf(services: Services, harness: HarnessRecord, body: TaskBody): RunConfig {
  return {
    base: harness.base,
    systemPrompt: harness.systemPrompt ?? services.settings.systemPrompt,
    instructions: body.instructions,
    disabledTools: harness.disabledTools,
    permissions: permissionsOf(services, harness),
    planning: harness.planning ?? services.settings.planning,
  };
}

/** What waits for a person is bounded, so that the task is (U-241). */
function permissionsOf({ settings }: Services, { permissions }: HarnessRecord): RunPermissions {
  const given = permissions ?? settings.permissions;
  return { ...given, expiresAfterSeconds: given.expiresAfterSeconds ?? settings.permissions.expiresAfterSeconds };
}
