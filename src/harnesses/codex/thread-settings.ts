import { instructionsOf } from '../foreign/instructions-of.ts';
import { treeVariable } from '../../process/child-environment.ts';
import type { JsonObject } from '../../core/json.ts';
import type { OpenNative, ResolvedMcpServer } from '../foreign/runtime.ts';

export type SandboxMode = 'workspace-write' | 'danger-full-access';

export interface ThreadChoices {
  readonly sandbox: SandboxMode;
  /** Absolute path of a catalogue of models in place of Codex' own; null: its own. */
  readonly catalogue: string | null;
}

/**
 * All that a thread is opened with, new or resumed. It goes over stdin, so neither the lease nor a secret of an MCP server is
 * in argv, in the environment or in a file (H-082, H-131).
 */
export function threadSettings(open: OpenNative, { sandbox, catalogue }: ThreadChoices): JsonObject {
  const { workspace, model, lease, marker, config, mcpServers } = open;
  const isTrusted = config.workspaceConfig === true;
  return {
    cwd: workspace,
    model,
    modelProvider: 'reins',
    // Every command and patch is asked about; what may run is decided by our permissions alone (H-040).
    approvalPolicy: 'untrusted',
    sandbox,
    developerInstructions: instructionsOf(config, config.disabledTools) ?? '',
    config: {
      ...features(config, isTrusted),
      'model_providers.reins': {
        name: 'Reins',
        base_url: `${lease.url}/v1`,
        wire_api: 'responses',
        requires_openai_auth: false,
        supports_websockets: false,
        experimental_bearer_token: lease.token,
        // Retries of a request are silent, those of a stream are told (H-024).
        request_max_retries: 0,
        stream_max_retries: 4,
        stream_idle_timeout_ms: 180_000,
      },
      ...(catalogue === null ? {} : { model_catalog_json: catalogue }),
      model_reasoning_summary: 'auto',
      // Searches and skills of its own would pass our permissions by.
      web_search: 'disabled',
      'skills.bundled.enabled': false,
      // Agents of its own go on beside the turn; a model's entry in the catalogue beats the feature.
      'agents.enabled': false,
      // A trusted folder's `.codex/` is loaded, its MCP servers are run outside of the sandbox, and a folder is trusted by opening
      // it. The dotted form of this key has no effect (H-084).
      projects: { [workspace]: { trust_level: isTrusted ? 'trusted' : 'untrusted' } },
      'shell_environment_policy.inherit': 'core',
      'shell_environment_policy.set': { [treeVariable]: marker },
      // Who decides on the network is who decides on the command.
      'sandbox_workspace_write.network_access': true,
      mcp_servers: Object.fromEntries(mcpServers.map((each) => [each.name, mcpServer(each, open)])),
    },
  };
}

/** Tools that a feature of Codex removes; any other is refused when it is called (H-407). */
const removes: Readonly<Record<string, readonly string[]>> = {
  exec_command: ['shell_tool', 'unified_exec'],
  view_image: ['view_image'],
};

const neverOn: readonly string[] = [
  // These go on beside the turn.
  'multi_agent',
  'goals',
  // These reach out for services that nobody asked for.
  'apps',
  'remote_plugin',
  'tool_suggest',
  'image_generation',
  'skill_mcp_dependency_install',
  'browser_use',
  'computer_use',
  'in_app_browser',
  // It would wait for the network without end.
  'unbounded_connection_retries',
];

/** What these run, the workspace brings (H-084). */
const ofWorkspace: readonly string[] = ['plugins', 'hooks'];

function features({ disabledTools, permissions }: OpenNative['config'], isTrusted: boolean): JsonObject {
  const off = [...neverOn, ...(isTrusted ? [] : ofWorkspace), ...disabledTools.flatMap((name) => removes[name] ?? [])];
  const entries = off.map((name) => [`features.${name}`, false] as const);
  return {
    ...Object.fromEntries(entries),
    'features.default_mode_request_user_input': permissions?.questions === true,
  };
}

function mcpServer({ name, server }: ResolvedMcpServer, { marker, config }: OpenNative): JsonObject {
  const prefix = `mcp__${name}__`;
  const disabled = config.disabledTools
    .filter((tool) => tool.startsWith(prefix))
    .map((tool) => tool.slice(prefix.length));
  const common = {
    startup_timeout_sec: 10,
    tool_timeout_sec: 1_800,
    // Otherwise tools that call themselves read-only run unasked.
    default_tools_approval_mode: 'prompt',
    disabled_tools: disabled,
  };
  if (server.transport !== 'stdio') return { ...common, url: server.url, http_headers: server.headers };
  const { command, args, env, cwd } = server;
  return { ...common, command, args, env: { ...env, [treeVariable]: marker }, ...(cwd === null ? {} : { cwd }) };
}
