import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { loadConfig, type ConfigFlags, type Environment, secretsOf } from './config.ts';
import { ConfigurationError } from './core/errors.ts';

interface Given {
  readonly flags?: ConfigFlags;
  readonly env?: Environment;
  /** The settings file of the data folder /data. */
  readonly file?: unknown;
}

function load({ flags = {}, env = {}, file }: Given = {}) {
  const readFile = (path: string) => (path === '/data/config.json' && file !== undefined ? JSON.stringify(file) : null);
  return loadConfig({ flags, env: { REINS_DATA_DIR: '/data', ...env }, readFile });
}

function refusal(given: Given): string {
  try {
    load(given);
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigurationError);
    return (error as Error).message;
  }
  throw new Error('It was not refused.');
}

/** Another file at every path: only /a.json asks for full speed. */
const readFile = (path: string) => JSON.stringify({ demo: { speed: path === '/a.json' ? 'full' : 'human' } });

describe('C1: command line, then environment, then file, then default', () => {
  test.each([
    ['command line', { flags: { port: '1' }, env: { REINS_PORT: '2' }, file: { server: { port: 3 } } }, 1],
    ['environment', { env: { REINS_PORT: '2' }, file: { server: { port: 3 } } }, 2],
    ['file', { file: { server: { port: 3 } } }, 3],
    ['file, the variable being empty', { env: { REINS_PORT: '' }, file: { server: { port: 3 } } }, 3],
    ['default', {}, 4242],
  ])('%s', (_, given, port) => expect(load(given).server.port).toBe(port));

  test('a source that sets one key leaves the others of its group alone', () => {
    const { server } = load({
      flags: { port: '1' },
      env: { REINS_HOST: 'localhost' },
      file: { server: { publicUrl: 'https://x.example/r/' } },
    });
    expect(server).toEqual({
      port: 1,
      host: 'localhost',
      publicUrl: 'https://x.example/r',
      dataDir: '/data',
      apiKey: null,
      logLevel: 'info',
      tls: null,
      allowedOrigins: [],
      chatPath: '/api/chat',
    });
  });

  test('Temporal is where the environment says, its key is a secret, and its files lie beside the settings', () => {
    const given = { REINS_TEMPORAL_ADDRESS: 'temporal:7233', REINS_TEMPORAL_API_KEY: 'its-key' };
    const config = load({ env: given, file: { temporal: { taskQueue: 'mine', tls: { caFile: 'ca.pem' } } } });
    expect(config.temporal).toMatchObject({ address: 'temporal:7233', namespace: 'default', taskQueue: 'mine' });
    expect(config.temporal.tls).toEqual({ caFile: expect.stringMatching(/^\/.*ca\.pem$/) });
    expect(secretsOf(config)).toContain('its-key');
    expect(load({}).temporal).toMatchObject({ address: null, tls: false, apiKey: null });
  });

  test('an allowed origin is one, and not the address of a page', () => {
    const origins = (...allowedOrigins: string[]) => load({ file: { server: { allowedOrigins } } });
    expect(origins('https://app.example').server.allowedOrigins).toEqual(['https://app.example']);
    for (const wrong of ['https://app.example/', 'https://app.example/page', '*', 'null'])
      expect(() => origins(wrong)).toThrow('allowedOrigins');
  });

  test('--config beats REINS_CONFIG, which beats the data folder', () => {
    expect(loadConfig({ flags: { config: '/a.json' }, env: { REINS_CONFIG: '/b.json' }, readFile }).demo.speed).toBe(
      'full',
    );
    expect(loadConfig({ env: { REINS_CONFIG: '/a.json' }, readFile }).demo.speed).toBe('full');
    expect(loadConfig({ env: {}, readFile }).demo.speed).toBe('human');
  });

  test('relative paths of a file count from its folder', () => {
    expect(load({ file: { agent: { template: 'start' } } }).agent.template).toBe('/data/start');
  });
});

describe('C2: a wrong source stops the start and says where', () => {
  test.each([
    [{ file: { server: { prot: 1 } } }, ["'server.prot' in /data/config.json", 'port']],
    [{ file: { sever: {} } }, ["'sever' in /data/config.json", 'server']],
    [{ file: { server: 5 } }, ["'server' in /data/config.json", 'object']],
    [{ file: [] }, ['/data/config.json']],
    [{ file: { models: { catalogue: [{ id: 'a', providers: {}, contxt: 1 }] } } }, ['models.catalogue.0.contxt']],
    [{ env: { REINS_PORT: '70000' } }, ['REINS_PORT', '65535']],
    [{ env: { REINS_PORT: 'x' } }, ['REINS_PORT', 'number']],
    [{ flags: { port: '-1' } }, ['--port']],
    [{ env: { REINS_DEMO_SPEED: 'fast' } }, ['REINS_DEMO_SPEED', 'human', 'full']],
    [{ flags: { port: '1' }, env: { REINS_PORT: 'x' } }, ['REINS_PORT']],
    [{ env: { REINS_CONFIG: '/none.json' } }, ['/none.json', 'REINS_CONFIG']],
    [{ file: { server: { dataDir: '/elsewhere' } } }, ['server.dataDir', '--data']],
    [{ file: { limits: { timeoutSeconds: 9, maxTimeoutSeconds: 8 } } }, ['limits.timeoutSeconds']],
    [{ file: { harnesses: { maxParked: 4, maxProcesses: 3 } } }, ["'harnesses.maxParked' is 4", 'which is 3']],
    [{ file: { harnesses: { maxParked: 1, maxProcesses: 1 } } }, ["'harnesses.maxParked' is 1", 'which is 1']],
  ] as [Given, string[]][])('%j', (given, words) => {
    const message = refusal(given);
    for (const word of words) expect(message).toContain(word);
  });

  test('an unknown key is refused by name, whatever it is called', () => {
    const known = load();
    const groups = fc.constantFrom(
      '',
      'server',
      'models',
      'agent',
      'harnesses',
      'approvals',
      'limits',
      'retention',
      'demo',
    );
    fc.assert(
      fc.property(
        groups,
        fc.oneof(fc.string(), fc.constantFrom('__proto__', 'constructor', 'toString')),
        (group, key) => {
          const place: object = group === '' ? known : known[group as 'server'];
          fc.pre(!Object.hasOwn(place, key));
          const inner = JSON.parse(`{${JSON.stringify(key)}:1}`) as object;
          const message = refusal({ file: group === '' ? inner : { [group]: inner } });
          expect(message).toContain(group === '' ? `'${key}'` : `'${group}.${key}'`);
        },
      ),
    );
  });

  test('a file that is no JSON is named with the place, its content is not', () => {
    const read = () => '\uFEFF{\n  "demo": secret-text}';
    expect(() => loadConfig({ env: { REINS_DATA_DIR: '/data' }, readFile: read })).toThrow(
      /^(?!.*secret).*\/data\/config\.json is not valid JSON: see line 2, column 11\.$/,
    );
  });
});

describe('C3: credentials', () => {
  test('each provider is read by its own names, and only those that are set are there', () => {
    const env = {
      ANTHROPIC_API_KEY: ' a\n',
      OPENAI_BASE_URL: 'http://127.0.0.1:9/v1',
      GOOGLE_GENERATIVE_AI_API_KEY: '',
      AZURE_API_KEY: 'z',
      AZURE_RESOURCE_NAME: 'r',
    };
    expect(load({ env }).models.credentials).toEqual({
      anthropic: { apiKey: 'a' },
      openai: { baseURL: 'http://127.0.0.1:9/v1' },
      azure: { apiKey: 'z', resourceName: 'r' },
    });
  });

  test.each([
    ['https://api.anthropic.com', 'https://api.anthropic.com/v1'],
    ['http://127.0.0.1:9/', 'http://127.0.0.1:9/v1'],
    ['http://127.0.0.1:9/v1', 'http://127.0.0.1:9/v1'],
    ['https://gate.example/anthropic/v1/', 'https://gate.example/anthropic/v1/'],
  ])('the address %s of Anthropic, as its own clients take it or with the version, is %s', (given, baseURL) => {
    expect(load({ env: { ANTHROPIC_BASE_URL: given } }).models.credentials.anthropic).toEqual({ baseURL });
  });

  test('no error text repeats a key or an address that may hold one', () => {
    const secret = 'key with-secret';
    expect(refusal({ env: { REINS_API_KEY: secret } })).not.toContain('secret');
    expect(refusal({ env: { OPENAI_BASE_URL: 'ftp://user:secret@host' } })).not.toContain('secret');
  });
});

describe('C4, UD-70: beyond loopback there is no start without a key of the operator', () => {
  test.each(['0.0.0.0', '::', '192.168.1.5', 'reins.example', '127.0.0.1.example'])('%s is refused', (host) => {
    expect(refusal({ flags: { host } })).toContain('REINS_API_KEY');
    expect(load({ flags: { host }, env: { REINS_API_KEY: 'k' } }).server.host).toBe(host);
  });
  test.each(['127.0.0.1', '127.8.0.1', 'localhost', '::1'])('%s needs none', (host) => {
    expect(load({ flags: { host } }).server.host).toBe(host);
  });
});

test('what was loaded never changes', () => {
  const config = load({ file: { models: { catalogue: [{ id: 'a', providers: { openai: 'b' } }] } } });
  expect(Object.isFrozen(config.models.catalogue[0]?.providers)).toBe(true);
  expect(Object.isFrozen(config.server)).toBe(true);
});

test('E-834: on several machines a server that goes says so for a while before it refuses anything, unless it is told otherwise', () => {
  const env = { REINS_DATABASE_URL: 'postgres://reins@db/reins' };
  const seconds = (given: Given) => load(given).limits.withdrawSeconds;
  expect([seconds({}), seconds({ env })]).toEqual([0, 5]);
  const file = (withdrawSeconds: number) => ({ limits: { withdrawSeconds } });
  expect([seconds({ file: file(20) }), seconds({ env, file: file(0) })]).toEqual([20, 0]);
});

test('UR-53: a limit of one principal is checked like one of all, and named', () => {
  const principals = { ada: { runningTasks: 3, tokensPerDay: null } };
  expect(load({ file: { limits: { principals } } }).limits).toMatchObject({ runningTasks: null, principals });
  expect(refusal({ file: { limits: { principals: { ada: { runningTasks: -1 } } } } })).toContain(
    "'limits.principals.ada.runningTasks'",
  );
  expect(refusal({ file: { limits: { principals: { ada: { tasks: 1 } } } } })).toContain(
    "'limits.principals.ada.tasks' in /data/config.json is no setting: known ones here are tasksPerMinute",
  );
});
