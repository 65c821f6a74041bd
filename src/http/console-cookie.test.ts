import { describe, expect, test } from 'vitest';
import { cookieName, createConsoleCookie, isOwnOrigin, readCookie } from './console-cookie.ts';
import fc from 'fast-check';
import { keyIds } from '../core/ids.ts';

const session = { principal: 'ada', scopes: [], keyId: keyIds.make('1'), expiresAtMs: 9 };
const cookie = createConsoleCookie({ find: async (token) => (token === 'good' ? session : null) }, undefined);

const asked = (method: string, headers: Readonly<Record<string, string>>, protocol: 'http' | 'https' = 'http') => ({
  method,
  headers: { host: '127.0.0.1:4242', ...headers },
  protocol,
});
const signedIn = { cookie: 'theme=dark; reins_console_4242=good' };

describe('K2', () => {
  test('reading needs the cookie alone', async () => {
    for (const method of ['GET', 'HEAD']) expect(await cookie.callerOf(asked(method, signedIn))).toEqual(session);
    expect(await cookie.callerOf(asked('GET', {}))).toBeNull();
    expect(await cookie.callerOf(asked('GET', { cookie: 'reins_console_4242=bad' }))).toBeNull();
  });

  test('any other method needs an origin, and it must be our own', async () => {
    const own = { ...signedIn, origin: 'http://127.0.0.1:4242' };
    for (const method of ['POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'QUERY']) {
      expect(await cookie.callerOf(asked(method, own))).toEqual(session);
      const foreign = [
        undefined,
        'null',
        '',
        'http://127.0.0.1:4243',
        'http://127.0.0.1',
        'http://evil.example',
        'http://127.0.0.1:4242.evil.example',
        'http://127.0.0.1:4242, http://127.0.0.1:4242',
      ];
      for (const origin of foreign) {
        const from = origin === undefined ? {} : { origin };
        await expect(cookie.callerOf(asked(method, { ...signedIn, ...from }))).rejects.toMatchObject({
          status: 403,
          code: 'reins_foreign_origin',
        });
      }
    }
  });

  test('the public address counts beside the one of the request; over TLS a plain page is a foreign one', () => {
    const from = (origin: string, protocol: 'http' | 'https' = 'http', publicOrigin?: string) =>
      isOwnOrigin(asked('POST', { origin }, protocol), publicOrigin);
    expect(from('https://reins.example', 'http', 'https://reins.example')).toBe(true);
    expect(from('http://reins.example', 'http', 'https://reins.example')).toBe(false);
    expect(from('https://127.0.0.1:4242')).toBe(true);
    expect(from('https://127.0.0.1:4242', 'https')).toBe(true);
    expect(from('http://127.0.0.1:4242', 'https')).toBe(false);
  });
});

describe('K1, K3', () => {
  test('the cookie is out of reach of scripts and other sites, Secure over TLS, and named for its port', () => {
    const set = (headers: Readonly<Record<string, string>>, token: string | null) => {
      const told: unknown[] = [];
      const reply = { header: (...fact: unknown[]) => void told.push(fact) } as never;
      cookie.set({ request: asked('POST', headers), reply }, token);
      return told;
    };
    const life = 'Path=/; HttpOnly; SameSite=Strict; Max-Age';
    expect(set({ origin: 'http://127.0.0.1:4242' }, 't')).toEqual([
      ['Set-Cookie', `reins_console_4242=t; ${life}=2592000`],
    ]);
    expect(set({ host: 'reins.example', origin: 'https://reins.example' }, 't')).toEqual([
      ['Set-Cookie', `__Host-reins_console_=t; ${life}=2592000; Secure`],
    ]);
    expect(set({}, null)).toEqual([['Set-Cookie', `reins_console_4242=; ${life}=0`]]);
    expect(cookieName('[::1]:80')).toBe('reins_console_80');
  });

  test('K4: over TLS only the cookie that nobody else can set counts, wherever TLS ends', async () => {
    const planted = { host: 'reins.example', cookie: 'reins_console_=good' };
    const own = { ...planted, cookie: 'reins_console_=bad; __Host-reins_console_=good' };
    const at = createConsoleCookie(
      { find: async (token) => (token === 'good' ? session : null) },
      'https://reins.example',
    );
    const behindProxy = { 'x-forwarded-proto': 'https' };
    const all = [
      [at, {}, 'http'],
      [cookie, {}, 'https'],
      [cookie, behindProxy, 'http'],
      [cookie, { origin: 'https://reins.example' }, 'http'],
    ] as const;
    for (const [door, more, protocol] of all)
      for (const method of ['GET', ...('origin' in more ? ['POST'] : [])]) {
        expect(await door.callerOf(asked(method, { ...planted, ...more }, protocol))).toBeNull();
        expect(await door.callerOf(asked(method, { ...own, ...more }, protocol))).toEqual(session);
      }
    expect(await cookie.callerOf(asked('GET', planted))).toEqual(session);
    expect(readCookie('a=planted; a=own', 'a')).toBeNull();
  });

  test('the cookie of that very name is read, whatever stands around it', () => {
    const name = fc.stringMatching(/^[a-z_]{1,9}$/);
    const value = fc.stringMatching(/^[a-z0-9]{1,9}$/);
    fc.assert(
      fc.property(fc.array(fc.tuple(name, value)), name, value, (others, own, token) => {
        const around = others.filter(([each]) => each !== own).map((pair) => pair.join('='));
        for (const at of [0, around.length])
          expect(readCookie(around.toSpliced(at, 0, `${own}=${token}`).join('; '), own)).toBe(token);
        expect(readCookie(around.join('; '), own)).toBeNull();
        expect(readCookie(`x${own}=${token}`, own)).toBeNull();
      }),
    );
    for (const header of [undefined, '', ';', 'a', 'a=']) expect(readCookie(header, 'a')).toBeNull();
  });
});
