import { installedPlugins } from './installed-plugins.ts';
import { secretHandle } from '../core/secret-handle.ts';
import type { HarnessExtensions, HarnessMcpServer, RunConfig, RunPermissions } from '../core/run-config.ts';
import type { HarnessRecord, HarnessSetup } from '../stores/harness-record.ts';
import type { Services } from './services.ts';
import type { TaskBody } from './task-body.ts';

/** The agent as a task is admitted with it: a later edit of the harness does not reach it (UD-35). */
export async function runConfigOf(services: Services, harness: HarnessRecord, body: TaskBody): Promise<RunConfig> {
  const extensions = await extensionsOf(services, harness);
  return {
    base: harness.base,
    systemPrompt: harness.systemPrompt ?? services.settings.systemPrompt,
    instructions: body.instructions,
    disabledTools: harness.disabledTools,
    permissions: permissionsOf(services, harness),
    planning: harness.planning ?? services.settings.planning,
    ...(harness.setup.workspaceConfig ? { workspaceConfig: true } : {}),
    ...(extensions === null ? {} : { extensions }),
  };
}

/** What waits for a person is bounded, so that the task is (U-241). */
function permissionsOf({ settings }: Services, { permissions }: HarnessRecord): RunPermissions {
  const given = permissions ?? settings.permissions;
  return { ...given, expiresAfterSeconds: given.expiresAfterSeconds ?? settings.permissions.expiresAfterSeconds };
}

/** What is enabled, and what is suppressed (UP-37, U-124); null: nothing of either. */
async function extensionsOf(
  services: Services,
  { principal, setup: { mcpServers, skills, plugins } }: HarnessRecord,
): Promise<HarnessExtensions | null> {
  if (mcpServers.length + skills.length + plugins.length === 0) return null;
  const enabled = plugins.filter((plugin) => plugin.enabled);
  const installed = await installedPlugins(services, { principal, plugins: enabled });
  return {
    mcpServers: mcpServers.filter((server) => server.enabled).map(serverOf),
    skills: skills.flatMap(({ name, bundle, enabled: on }) => (on && bundle !== null ? [{ name, bundle }] : [])),
    plugins: installed.map(({ name, bundle, mcpServers: servers, skills: own }) => ({
      name,
      bundle,
      mcpServers: servers,
      skills: own.map((skill) => skill.name),
    })),
    suppressedSkills: skills.flatMap(({ name, enabled: on }) => (on ? [] : [name])),
  };
}

/** A token is sent as its header, in place of one that was written out. */
function serverOf({ name, url, transport, headers, auth }: HarnessSetup['mcpServers'][number]): HarnessMcpServer {
  const written = Object.entries(headers).filter(
    ([header]) => auth === null || header.toLowerCase() !== 'authorization',
  );
  const all = auth === null ? written : [...written, ['Authorization', auth] as const];
  return {
    name,
    url,
    transport,
    secretHeaders: Object.fromEntries(all.map(([header, { id }]) => [header, secretHandle(id)])),
  };
}
