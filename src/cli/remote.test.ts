import { afterEach, expect, test, vi } from 'vitest';
import { ConfigurationError } from '../core/errors.ts';
import { openRemote } from './remote.ts';
import { UsageError } from './verb.ts';

afterEach(() => vi.unstubAllEnvs());

const there = { data: '/nowhere', key: 'key' };

test.each(['nonsense', '/v1', 'localhost:4242', 'ftp://host', '127.0.0.1:4242'])(
  'an address that is none is wrong usage (--url %s), or a wrong setting (REINS_URL)',
  (url) => {
    expect(() => openRemote({ ...there, url })).toThrow(UsageError);
    vi.stubEnv('REINS_URL', url);
    expect(() => openRemote(there)).toThrow(ConfigurationError);
    expect(() => openRemote(there)).toThrow('REINS_URL must be the address of a server');
  },
);

test('an address of a server is taken', () => {
  expect(() => openRemote({ ...there, url: 'http://127.0.0.1:4242' })).not.toThrow();
});
