// What a harness brings, as it will be stored: each list that a body has is made anew, each that it has not stays. Nothing is
// stored here, so that a refusal of any part leaves the harness as it was (U-106, UP-13).

import { InvalidInputError, RequestError } from '../core/errors.ts';
import { installedPlugins, type InstalledPlugin } from './installed-plugins.ts';
import { refuseConflicts } from './plugin-conflicts.ts';
import { storedPlugins, storedSkills } from './stored-bundles.ts';
import { storedServers } from './stored-servers.ts';
import type { Bundle, HarnessSetup } from '../stores/harness-record.ts';
import type { HarnessAdapter } from '../harnesses/harness.ts';
import type { HarnessBody } from './harness-body.ts';
import type { Services } from './services.ts';

export interface SetupChange {
  readonly principal: string;
  readonly adapter: HarnessAdapter;
  readonly body: HarnessBody;
  readonly current: HarnessSetup;
}

const defaultMaxBundleBytes = 20 * 1024 * 1024;

/** @returns  The setup, and the bundles to be stored with it. @throws RequestError */
export async function buildSetup(
  services: Services,
  { principal, adapter, body, current }: SetupChange,
): Promise<{ readonly setup: HarnessSetup; readonly bundles: readonly Bundle[] }> {
  const { store, random, settings } = services;
  const { allowHosts = [] } = settings;
  const scope = { store, principal, allowHosts, maxBytes: settings.maxBundleBytes ?? defaultMaxBundleBytes };
  const mcpServers =
    body.mcpServers === undefined
      ? current.mcpServers
      : storedServers(body.mcpServers ?? [], { current: current.mcpServers, random, allowHosts });
  const { skills, bundles: ofSkills } =
    body.skills === undefined ? { ...current, bundles: [] } : await storedSkills(scope, body.skills ?? []);
  const { plugins, bundles: ofPlugins } =
    body.plugins === undefined
      ? { plugins: await installedPlugins(services, { principal, plugins: current.plugins }), bundles: [] }
      : await storedPlugins(scope, body.plugins ?? []);
  refuseTransports(adapter, [...mcpServers, ...plugins.flatMap((plugin) => plugin.mcpServers)]);
  refuseConflicts({ mcpServers, skills, plugins });
  const setup = {
    mcpServers,
    skills,
    plugins: plugins.map(({ name, enabled, bundle }) => ({ name, enabled, bundle })),
    modelFallback: body.modelFallback === undefined ? current.modelFallback : (body.modelFallback ?? false),
    template: body.template === undefined ? current.template : allowedTemplate(services, body.template),
    workspaceConfig: body.workspaceConfig === undefined ? current.workspaceConfig : (body.workspaceConfig ?? false),
  };
  return { setup, bundles: [...ofSkills, ...ofPlugins] };
}

/** Only the folders that the operator has named: a template is read with the server's rights (UD-88). */
function allowedTemplate({ settings }: Services, template: string | null): string | null {
  if (template === null || settings.templates?.includes(template) === true) return template;
  throw new InvalidInputError('The operator has not allowed this folder as a template.', 'reins_template');
}

/** 422 `unsupported_transport`: found when it is configured, not when a task needs it (U-114, UP-35). */
function refuseTransports(
  { base, mcpTransports = [] }: HarnessAdapter,
  servers: readonly { readonly transport: InstalledPlugin['mcpServers'][number]['transport'] }[],
): void {
  const unsupported = servers.find(({ transport }) => !mcpTransports.includes(transport));
  if (unsupported === undefined) return;
  const { transport } = unsupported;
  throw new RequestError({
    status: 422,
    errorType: 'invalid_request_error',
    code: 'unsupported_transport',
    message: `The harness base '${base}' cannot run MCP servers over ${transport}.`,
    detail: { transport, base },
  });
}
