import { expect, test } from 'vitest';
import { loopbackUrl } from './open-console.ts';

test.each([
  ['http://127.0.0.1:4242', 'http://127.0.0.1:4242'],
  ['http://localhost:4242', 'http://localhost:4242'],
  ['https://[::1]:4242', 'https://[::1]:4242'],
  ['http://0.0.0.0:4242', 'http://127.0.0.1:4242'],
  ['http://[::]:4242', 'http://[::1]:4242'],
  ['http://127.0.0.1:80', 'http://127.0.0.1'],
  ['http://192.168.1.7:4242', null],
  ['http://127.0.0.1.example:4242', null],
])('C-062: a server at %s can be reached from this machine at %s', (url, loopback) => {
  expect(loopbackUrl(url)).toBe(loopback);
});
