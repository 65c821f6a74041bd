// That real harnesses take this model for one of their providers: each is asked once, in its own way, to write a file.
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { tmpdir } from 'node:os';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { findHarnessProgram, type HarnessName } from '../harness-programs.ts';
import { startHarnessModel } from './start-harness-model.ts';
import { systemClock } from '../../system.ts';

interface Launch {
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Path below the home folder and content, as JSON. */
  readonly config?: readonly [string, object];
}
type Launcher = (url: string, home: string, prompt: string) => Launch;

const piModel = (api: string, path: string): Launcher => {
  const models = [{ id: 'test-model', reasoning: true, contextWindow: 200_000, maxTokens: 8192 }];
  return (url, home, prompt) => ({
    args: ['--offline', '--no-approve', '--model', 'reins/test-model', '-p', prompt],
    env: { PI_CODING_AGENT_DIR: home, PI_OFFLINE: '1', PI_TELEMETRY: '0' },
    config: ['models.json', { providers: { reins: { baseUrl: url + path, api, apiKey: 'key', models } } }],
  });
};

const launchers: readonly (readonly [string, HarnessName, Launcher])[] = [
  [
    'claude-code over Messages',
    'claude-code',
    (url, home, prompt) => ({
      args: ['-p', prompt, '--allowedTools', 'Bash', '--setting-sources', ''],
      env: {
        CLAUDE_CONFIG_DIR: home,
        ANTHROPIC_BASE_URL: url,
        ANTHROPIC_API_KEY: 'key',
        ANTHROPIC_MODEL: 'test-model',
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
        DISABLE_AUTOUPDATER: '1',
      },
    }),
  ],
  [
    'codex over Responses',
    'codex',
    (url, home, prompt) => {
      const provider = `{name="reins",base_url="${url}/v1",wire_api="responses",requires_openai_auth=false,supports_websockets=false,experimental_bearer_token="key"}`;
      const settings = [
        'model_provider="reins"',
        `model_providers.reins=${provider}`,
        'sandbox_mode="danger-full-access"',
      ];
      return {
        args: [
          'exec',
          '--skip-git-repo-check',
          '-m',
          'test-model',
          ...settings.flatMap((line) => ['-c', line]),
          prompt,
        ],
        env: { CODEX_HOME: home },
      };
    },
  ],
  ['pi over Messages', 'pi', piModel('anthropic-messages', '')],
  ['pi over Responses', 'pi', piModel('openai-responses', '/v1')],
  ['pi over chat completions', 'pi', piModel('openai-completions', '/v1')],
  [
    'gemini-cli over Gemini',
    'gemini-cli',
    (url, home, prompt) => ({
      args: ['-m', 'gemini-2.5-flash', '--yolo', '-p', prompt],
      env: {
        GEMINI_CLI_HOME: home,
        GEMINI_API_KEY: 'key',
        GOOGLE_GEMINI_BASE_URL: url,
        GEMINI_CLI_TRUST_WORKSPACE: 'true',
        GEMINI_TELEMETRY_ENABLED: 'false',
      },
      config: [
        '.gemini/settings.json',
        {
          security: { auth: { selectedType: 'gemini-api-key' } },
          general: { enableAutoUpdate: false },
          privacy: { usageStatisticsEnabled: false },
        },
      ],
    }),
  ],
  [
    'opencode over chat completions',
    'opencode',
    (url, home, prompt) => ({
      args: ['run', prompt],
      env: { XDG_CONFIG_HOME: join(home, 'config'), XDG_DATA_HOME: home, XDG_STATE_HOME: home, XDG_CACHE_HOME: home },
      config: [
        'config/opencode/opencode.json',
        {
          model: 'reins/test-model',
          small_model: 'reins/test-model',
          autoupdate: false,
          enabled_providers: ['reins'],
          provider: {
            reins: {
              npm: '@ai-sdk/openai-compatible',
              options: { baseURL: `${url}/v1`, apiKey: 'key' },
              models: { 'test-model': { tool_call: true, limit: { context: 200_000, output: 8192 } } },
            },
          },
        },
      ],
    }),
  ],
];

for (const [title, name, launcher] of launchers) {
  const program = findHarnessProgram(name, process.env);
  if (program.kind === 'absent') test.skip(`${title}: ${program.reason}`);
  else
    test(title, async () => {
      await using server = await startHarnessModel({ clock: systemClock });
      const folder = await mkdtemp(join(tmpdir(), 'reins-harness-'));
      const [home, workspace] = [join(folder, 'home'), join(folder, 'work')];
      try {
        await Promise.all([mkdir(home), mkdir(workspace)]);
        const { args, env, config } = launcher(server.url, home, '[[tool]] Write the file.');
        if (config !== undefined) {
          const file = join(home, config[0]);
          await mkdir(dirname(file), { recursive: true });
          await writeFile(file, JSON.stringify(config[1]));
        }
        const running = promisify(execFile)(program.command, [...program.args, ...args], {
          cwd: workspace,
          // Nothing of the developer's own reaches it: no key, no provider (H-982).
          env: { PATH: process.env['PATH'], HOME: home, TMPDIR: folder, ...env },
          timeout: 25_000,
        });
        running.child.stdin?.end();
        const { stdout } = await running;
        expect(stdout).toContain('The file is written.');
        expect(await readFile(join(workspace, 'made.txt'), 'utf8')).toBe('made by a tool');
        expect(server.requests.filter(({ script, results }) => script === 'tool' && results.length === 1)).toHaveLength(
          1,
        );
      } finally {
        await rm(folder, { recursive: true, force: true });
      }
    });
}
