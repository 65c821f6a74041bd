import { expect, test } from 'vitest';
import { childEnvironment } from './child-environment.ts';

test('B143: a child sees where programs are and who the user is, and no secret or outer harness mark, whatever its name', () => {
  const noise = [
    'CLAUDECODE',
    'CLAUDE_CODE_ENTRYPOINT',
    'CODEX_HOME',
    'PI_SESSION_ID',
    'GEMINI_CLI',
    'OPENCODE',
    'AGENT',
  ];
  const secrets = [
    'ANTHROPIC_API_KEY',
    'OPENAI_BASE_URL',
    'REINS_API_KEY',
    'REINS_DATA_DIR',
    'DATABASE_URL',
    'MY_TOKEN',
  ];
  const ways = [
    'NODE_OPTIONS',
    'BASH_ENV',
    'ENV',
    'LD_PRELOAD',
    'GIT_CONFIG_COUNT',
    'npm_config_registry',
    'SSH_AUTH_SOCK',
  ];
  const kept = { PATH: '/bin', HOME: '/home/a', LANG: 'C', LC_ALL: 'C', TZ: 'UTC', HTTPS_PROXY: 'http://proxy' };
  const foreign = Object.fromEntries([...noise, ...secrets, ...ways].map((name) => [name, 'nonsense']));
  expect(childEnvironment({ ...foreign, ...kept, TERM: 'xterm' })).toEqual({ ...kept, TERM: 'dumb' });
});

test('own variables come on top, and undefined takes one away', () => {
  expect(childEnvironment({ PATH: '/bin', HOME: '/home/a' }, { HOME: '/private', PATH: undefined })).toEqual({
    HOME: '/private',
    PATH: undefined,
    TERM: 'dumb',
  });
});
