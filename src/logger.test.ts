import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { createLogger, type LoggerOptions } from './logger.ts';

function logged(options: Omit<LoggerOptions, 'out'> & { readonly isTTY?: boolean } = {}) {
  const lines: string[] = [];
  const { isTTY = false, ...rest } = options;
  return { lines, logger: createLogger({ ...rest, out: { isTTY, write: (line) => lines.push(line) } }) };
}

const provider = () =>
  new Error('Status 401', { cause: Object.assign(new Error('bad key sk-secret'), { prompt: 'Mine' }) });

test('an entry is one JSON line with time, level, words and facts, under the id of its run or request', () => {
  const { lines, logger } = logged();
  logger.warn('A model call failed.', { runId: 'resp_1', message: 'It could not answer.', step: 2 });
  expect(lines).toEqual([expect.stringMatching(/^\{.*\}\n$/)]);
  expect(JSON.parse(lines.join())).toEqual({
    level: 'warn',
    time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
    runId: 'resp_1',
    message: 'It could not answer.',
    step: 2,
    msg: 'A model call failed.',
  });
});

test('E-071: the chain of causes is kept whole, by stacks alone', () => {
  const { lines, logger } = logged();
  logger.error('The engine failed.', { runId: 'resp_1' }, provider());
  const { cause } = JSON.parse(lines.join());
  expect(cause).toMatch(/^Error: Status 401\n +at .*\ncaused by: Error: bad key sk-secret\n +at /s);
  expect(cause).not.toContain('Mine');
});

test('E-071, L1: no secret is in a line, whoever repeats it and however it is written', () => {
  for (const isTTY of [false, true]) {
    const { lines, logger } = logged({ isTTY, secrets: ['sk-secret', 'pass"word'] });
    logger.error(
      'About sk-secret.',
      { url: 'https://x/?k=pass%22word', deep: [{ body: '{"k":"pass\\"word"}' }] },
      provider(),
    );
    const line = lines.join();
    expect(line.split('[redacted]')).toHaveLength(5);
    expect(line).not.toMatch(/sk-secret|word/);
  }
});

test('an entry below the level is not written', () => {
  const { lines, logger } = logged({ level: 'error' });
  logger.info('Begun.');
  logger.warn('Slow.');
  logger.error('Broken.');
  logged({ level: 'silent' }).logger.error('Broken.');
  expect(lines).toHaveLength(1);
});

test('L2: on a terminal an entry is one readable line, and nothing in it can steer the terminal', () => {
  const { lines, logger } = logged({ isTTY: true });
  logger.error('A run failed.', { runId: 'resp_1', status: 401, said: 'two\nlines \u001b[2J\u009b2J' }, provider());
  expect(lines.join()).toMatch(
    /^\d\d:\d\d:\d\dZ error A run failed\. runId=resp_1 status=401 said="two\\nlines \\u001b\[2J 2J" cause="Error: Status 401, caused by: Error: bad key sk-secret"\n$/,
  );
});

test('a process whose stderr is no terminal writes JSON lines there', () => {
  const script = `import { createLogger } from '${new URL('./logger.ts', import.meta.url).href}'; createLogger().info('Up.', { n: 1 });`;
  const { stderr, stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' });
  expect(stdout).toBe('');
  expect(JSON.parse(stderr)).toMatchObject({ level: 'info', msg: 'Up.', n: 1 });
});
