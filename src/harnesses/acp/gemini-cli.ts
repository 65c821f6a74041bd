// The Gemini CLI. Its own rules are turned into questions by a policy file, so that every call asks; a rule for shell commands
// needs a pattern of arguments, since those that it holds for safe are let through otherwise. Configuration of the workspace
// would start servers and run commands (H-084), and cannot be switched off but by distrust, which also switches off all MCP
// servers: so a workspace that brings some is distrusted unless its operator wants that, and any other is not.

import { commandOf } from '../foreign/command-of.ts';
import { createFinder } from '../foreign/find-runtime.ts';
import { existsSync } from 'node:fs';
import { instructionsOf } from '../foreign/instructions-of.ts';
import { placeSkills, writePrivate } from '../foreign/private-files.ts';
import { isJsonObject, parsedOrText, type JsonObject, type JsonValue } from '../../core/json.ts';
import { join } from 'node:path';
import { mkdir, readdir, rename } from 'node:fs/promises';
import { objectsOf, textOf } from '../foreign/fields.ts';
import { contentText } from './content-text.ts';
import { createAcpRuntime, type AcpParts } from './acp-runtime.ts';
import { runtimeEnvironment } from '../foreign/line-process.ts';
import type { AcpDialect, AcpLaunch } from './acp-profile.ts';
import type { Capabilities } from '../harness.ts';
import type { Environment } from '../../process/child-environment.ts';
import type { ForeignRuntime, OpenNative } from '../foreign/runtime.ts';

const tried = '0.61.0';

/** Whatever model it is given, it asks these who speaks next, for summaries, for web pages, and when a conversation is shortened. */
const auxiliaryModels: readonly string[] = [
  'gemini-2.5-flash',
  'gemini-2.5-flash-lite',
  'gemini-3-flash-preview',
  'gemini-3-pro-preview',
  'gemini-3.1-flash-lite',
  'gemini-3.5-flash-lite',
];

const capabilities: Capabilities = {
  text: 'stream',
  thinking: 'whole',
  toolInput: 'whole',
  approvals: 'every-call',
  questions: 'no',
  steer: 'cuts-reply',
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

export const geminiDialect: AcpDialect = {
  label: 'Gemini CLI',
  callsFollowReply: true,
  asksAlways: true,
  asksWithLess: false,
  // Its ids begin with the tool's name, and are the only place for it.
  nameOf: ({ toolCallId, title }) => /^(.+?)__./.exec(textOf(toolCallId))?.[1] ?? textOf(title),
  inputOf,
  isFailure: () => false,
};

export function createGeminiCliRuntime(parts: AcpParts): ForeignRuntime {
  const { clock, random, host, path } = parts;
  const probe = createFinder({
    clock,
    label: geminiDialect.label,
    name: 'gemini',
    path,
    host,
    marker: random.token(),
    commandOf,
    versionArgs: ['--version'],
    versionIn: (text) => /^(\d+\.\d+\.\d+\S*)\s*$/m.exec(text)?.[1] ?? null,
    tried: [tried],
    install: `npm install -g --save-exact @google/gemini-cli@${tried}`,
  });
  const profile = {
    base: 'gemini-cli',
    label: geminiDialect.label,
    providers: ['google'],
    auxiliaryModels,
    mcpTransports: ['http', 'sse', 'stdio'],
    capabilities,
    dialect: geminiDialect,
    probe,
    launch: (options: OpenNative, program: string) => launch(options, program, host),
    beforeLoad,
  } as const;
  return createAcpRuntime(profile);
}

async function launch(options: OpenNative, path: string, host: Environment): Promise<AcpLaunch> {
  const { home, temporary, workspace, model, lease, config } = options;
  const folder = join(home, '.gemini');
  const isTrusted = config.workspaceConfig === true || !existsSync(join(workspace, '.gemini'));
  const policy = join(home, 'policy.toml');
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await writePrivate(join(folder, 'settings.json'), settingsFor(config.workspaceConfig === true));
  await writePrivate(join(folder, 'GEMINI.md'), instructionsOf(config) ?? '');
  await writePrivate(policy, policyFor(config.disabledTools));
  await placeSkills(options.skillFolders, join(folder, 'skills'));
  const { program, args } = commandOf(path);
  const own = {
    GEMINI_CLI_HOME: home,
    GEMINI_API_KEY: lease.token,
    GOOGLE_GEMINI_BASE_URL: lease.url,
    GEMINI_CLI_TRUST_WORKSPACE: String(isTrusted),
    GEMINI_TELEMETRY_ENABLED: 'false',
    // It would start itself a second time, for nothing but more memory.
    GEMINI_CLI_NO_RELAUNCH: 'true',
  };
  return {
    program,
    args: [...args, '--acp', '-m', model, '--policy', policy],
    env: runtimeEnvironment(host, { home, temporary, own }),
    mcpServers: isTrusted ? options.mcpServers : [],
    foreword: null,
  };
}

const settingsFor = (runsHooks: boolean): JsonObject => ({
  security: { auth: { selectedType: 'gemini-api-key' }, folderTrust: { enabled: true } },
  general: { enableAutoUpdate: false, enableAutoUpdateNotification: false },
  privacy: { usageStatisticsEnabled: false },
  telemetry: { enabled: false },
  hooksConfig: { enabled: runsHooks },
});

/** What is refused for good is not even offered to the model. */
export function policyFor(disabledTools: readonly string[]): string {
  const names = disabledTools.filter((name) => /^[\w.*-]+$/.test(name));
  const rule = (toolName: string, decision: string, more: string) =>
    `[[rule]]\ntoolName = "${toolName}"\ndecision = "${decision}"\n${more}\n`;
  return [
    ...names.map((name) => rule(name, 'deny', 'priority = 999')),
    rule('run_shell_command', 'ask_user', 'argsPattern = "."\npriority = 998'),
    rule('*', 'ask_user', 'priority = 997'),
  ].join('\n');
}

/**
 * To load a session it first opens a new file, by minute and session: within the same minute that is the file that it is to
 * load, and it overwrites it. So the old one gets another minute.
 */
async function beforeLoad(home: string, nativeId: string): Promise<void> {
  const root = join(home, '.gemini', 'tmp');
  const name = new RegExp(`^session-\\d{4}-\\d\\d-\\d\\dT\\d\\d-\\d\\d-(${nativeId.slice(0, 8)}\\.jsonl?)$`);
  for (const project of await readdir(root).catch(() => [])) {
    const chats = join(root, project, 'chats');
    for (const file of await readdir(chats).catch(() => [])) {
      const rest = name.exec(file)?.[1];
      if (rest !== undefined) await rename(join(chats, file), join(chats, `session-2000-01-01T00-00-${rest}`));
    }
  }
}

/** It tells no arguments, only what it shows of them. */
function inputOf(call: JsonObject): JsonValue {
  const title = textOf(call['title']);
  if (call['kind'] === 'execute') return { command: title };
  const diff = objectsOf(call['content']).find(({ type }) => type === 'diff');
  if (diff !== undefined)
    return { file_path: textOf(diff['path']), old_text: textOf(diff['oldText']), new_text: textOf(diff['newText']) };
  const told = parsedOrText(contentText(call['content']));
  if (isJsonObject(told)) return told;
  const [place] = objectsOf(call['locations']);
  return place === undefined ? { description: title } : { path: textOf(place['path']) };
}
