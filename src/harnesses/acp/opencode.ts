// OpenCode over ACP. It runs plugins and servers that the workspace configures, and no switch of it keeps it from that
// entirely (H-084): where a workspace brings any, it is started only where its operator wants that.

import { createAcpRuntime, type AcpParts } from './acp-runtime.ts';
import { createFinder } from '../foreign/find-runtime.ts';
import { dirname, join } from 'node:path';
import { existsSync } from 'node:fs';
import { instructionsOf } from '../foreign/instructions-of.ts';
import { placeSkills, writePrivate } from '../foreign/private-files.ts';
import { mkdir } from 'node:fs/promises';
import { objectOf, textOf } from '../foreign/fields.ts';
import { runtimeEnvironment } from '../foreign/line-process.ts';
import { unavailable } from '../foreign/start-step.ts';
import type { ForeignRuntime, OpenNative } from '../foreign/runtime.ts';
import type { AcpDialect, AcpLaunch } from './acp-profile.ts';
import type { Capabilities } from '../harness.ts';
import type { Environment } from '../../process/child-environment.ts';
import type { JsonObject, JsonValue } from '../../core/json.ts';

const tried = '1.18.33';

const capabilities: Capabilities = {
  text: 'stream',
  thinking: 'stream',
  toolInput: 'whole',
  approvals: 'every-call',
  questions: 'no',
  steer: 'next-step',
  cancel: 'in-band',
  resume: 'own-id',
  disabledTools: 'block',
  maxStep: 'exact',
  usage: 'per-step',
  denial: 'goes-on',
  tree: 'proven',
  fork: 'no',
  compact: 'no',
  hostTools: 'no',
  mcp: ['http', 'sse', 'stdio'],
  skills: 'folder',
  servedModel: 'relay',
  resets: 'relay',
  sandbox: 'none',
};

export const opencodeDialect: AcpDialect = {
  label: 'OpenCode',
  callsFollowReply: false,
  asksAlways: true,
  asksWithLess: true,
  nameOf: ({ title }) => textOf(title),
  inputOf,
  isFailure: ({ title }) => title === 'Invalid Tool',
};

export function createOpencodeRuntime(parts: AcpParts): ForeignRuntime {
  const { clock, random, host, path } = parts;
  const probe = createFinder({
    clock,
    label: opencodeDialect.label,
    name: 'opencode',
    path,
    host,
    marker: random.token(),
    versionArgs: ['--version'],
    versionIn: (text) => /^(\d+\.\d+\.\d+\S*)\s*$/m.exec(text)?.[1] ?? null,
    tried: [tried],
    install: `npm install -g --save-exact opencode-ai@${tried}`,
  });
  const profile = {
    base: 'opencode',
    label: opencodeDialect.label,
    providers: ['openai-compatible', 'openai'],
    mcpTransports: ['http', 'sse', 'stdio'],
    capabilities,
    dialect: opencodeDialect,
    probe,
    launch: (options: OpenNative, program: string) => launch(options, program, host),
  } as const;
  return createAcpRuntime(profile);
}

async function launch(options: OpenNative, program: string, host: Environment): Promise<AcpLaunch> {
  const { home, temporary, workspace, config, mcpServers } = options;
  const isTrusted = config.workspaceConfig === true;
  const found = isTrusted ? null : configurationIn(workspace);
  if (found !== null) {
    const message = `OpenCode was not started: ${found} would be run, which this server does not allow.`;
    throw unavailable(message);
  }
  const folder = join(home, 'config', 'opencode');
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const instructions = join(home, 'instructions.md');
  await writePrivate(instructions, instructionsOf(config) ?? '');
  await writePrivate(join(folder, 'opencode.json'), settingsFor(options, instructions));
  await placeSkills(options.skillFolders, join(folder, 'skills'));
  const folders = ['config', 'data', 'state', 'cache'].map((name) => [
    `XDG_${name.toUpperCase()}_HOME`,
    join(home, name),
  ]);
  const env = runtimeEnvironment(host, {
    home,
    temporary,
    own: { ...Object.fromEntries(folders), ...switches, ...(isTrusted ? {} : isolated) },
  });
  return { program, args: isTrusted ? ['acp'] : ['acp', '--pure'], env, mcpServers, foreword: null };
}

const switches = Object.fromEntries(
  [
    'DISABLE_AUTOUPDATE',
    'DISABLE_MODELS_FETCH',
    'DISABLE_LSP_DOWNLOAD',
    'DISABLE_SHARE',
    'DISABLE_CLAUDE_CODE',
    'DISABLE_EXTERNAL_SKILLS',
  ].map((name) => [`OPENCODE_${name}`, '1']),
);

function settingsFor({ lease, model, config }: OpenNative, instructions: string): JsonObject {
  const plain = `reins/${model}`;
  const npm = lease.provider === 'openai' ? '@ai-sdk/openai' : '@ai-sdk/openai-compatible';
  const limit = { context: 128_000, output: config.maxTokens ?? 16_384 };
  const denied = config.disabledTools.map((name) => [permissionOf(name), 'deny']);
  return {
    model: plain,
    small_model: plain,
    autoupdate: false,
    share: 'disabled',
    enabled_providers: ['reins'],
    instructions: [instructions],
    // It would ask the model for a title beside the first reply.
    agent: { title: { disable: true } },
    experimental: { continue_loop_on_deny: true },
    // The two are asked beside the call itself, which is asked about anyway.
    permission: { '*': 'ask', external_directory: 'allow', doom_loop: 'allow', ...Object.fromEntries(denied) },
    provider: {
      reins: {
        npm,
        options: { baseURL: `${lease.url}/v1`, apiKey: lease.token },
        models: { [model]: { tool_call: true, reasoning: true, limit } },
      },
    },
  };
}

const isolated = { OPENCODE_DISABLE_PROJECT_CONFIG: '1' };

/** One permission stands for all tools that change files. */
const permissionOf = (tool: string) => (/^(write|edit|multiedit|patch|apply_patch)$/.test(tool) ? 'edit' : tool);

/** What it would load from the workspace, up to the root of its repository; null: nothing. */
function configurationIn(workspace: string): string | null {
  const folders = [workspace];
  if (!existsSync(join(workspace, '.git')))
    for (let folder = dirname(workspace); folder !== dirname(folder); folder = dirname(folder)) {
      folders.push(folder);
      if (existsSync(join(folder, '.git'))) break;
    }
  const isInRepository = existsSync(join(folders.at(-1) ?? workspace, '.git'));
  const looked = isInRepository ? folders : [workspace];
  const names = ['.opencode', 'opencode.json', 'opencode.jsonc'];
  return looked.flatMap((folder) => names.map((name) => join(folder, name))).find((file) => existsSync(file)) ?? null;
}

/** The arguments of a shell command come with a folder beside them, at first with nothing else. */
function inputOf(call: JsonObject): JsonValue | undefined {
  const { cwd, ...rest } = objectOf(call['rawInput']);
  const input = call['kind'] === 'execute' || cwd === undefined ? rest : { ...rest, cwd };
  return Object.keys(input).length === 0 ? undefined : input;
}
