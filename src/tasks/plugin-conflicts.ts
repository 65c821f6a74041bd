import { RequestError } from '../core/errors.ts';

type Component = 'mcp_server' | 'skill' | 'plugin';

interface Named {
  readonly name: string;
  readonly enabled: boolean;
}

export interface Composition {
  /** The harness's own lists. */
  readonly mcpServers: readonly Named[];
  readonly skills: readonly Named[];
  readonly plugins: readonly (Named & {
    readonly mcpServers: readonly { readonly name: string }[];
    readonly skills: readonly { readonly name: string }[];
  })[];
}

/**
 * All that an agent is given shares one namespace for servers and one for skills: what is enabled must differ in it (UP-38);
 * the entries of one list differ even where they are disabled (UD-38, UP-39).
 * @throws PluginConflictError
 */
export function refuseConflicts({ mcpServers, skills, plugins }: Composition): void {
  const enabled = plugins.filter((plugin) => plugin.enabled);
  const inPlugins = (component: 'mcpServers' | 'skills') =>
    enabled.flatMap(({ name: owner, [component]: found }) => found.map(({ name }) => ({ name, owner })));
  const ofHarness = (list: readonly Named[]) => list.map(({ name }) => ({ name, owner: 'harness' }));
  const active = (list: readonly Named[]) => ofHarness(list.filter((entry) => entry.enabled));
  refuseTwice(
    'plugin',
    plugins.map(({ name }) => ({ name, owner: name })),
  );
  refuseTwice('mcp_server', ofHarness(mcpServers));
  refuseTwice('mcp_server', [...active(mcpServers), ...inPlugins('mcpServers')]);
  refuseTwice('skill', ofHarness(skills));
  refuseTwice('skill', [...active(skills), ...inPlugins('skills')]);
}

interface Claim {
  readonly name: string;
  readonly owner: string;
}

function refuseTwice(component: Component, claims: readonly Claim[]): void {
  const owners = new Map<string, string>();
  for (const { name, owner } of claims) {
    const key = component === 'mcp_server' ? agentName(name) : name;
    const other = owners.get(key);
    if (other !== undefined) throw new PluginConflictError({ component, name, between: [other, owner] });
    owners.set(key, owner);
  }
}

/** What an agent calls a server (UD-39). */
function agentName(name: string): string {
  return name.replaceAll(/[^\w-]/gu, '_').slice(0, 64);
}

/** 409 `plugin_conflict`: one name for two things of an agent. */
class PluginConflictError extends RequestError {
  constructor(detail: { readonly component: Component; readonly name: string; readonly between: readonly string[] }) {
    super({
      status: 409,
      errorType: 'invalid_request_error',
      code: 'plugin_conflict',
      message: 'Two things of this harness have the same name; detail says which, and whose they are.',
      detail: { ...detail },
    });
  }
}
