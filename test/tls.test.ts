import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createServer } from '../src/compose.ts';
import { loadConfig } from '../src/config.ts';
import { ConfigurationError } from '../src/core/errors.ts';
import { silentLogger } from '../src/core/logger.ts';

const folder = mkdtempSync(join(tmpdir(), 'reins-tls-'));
const opensslProblem = (() => {
  try {
    for (const name of ['one', 'two'])
      execFileSync(
        'openssl',
        `req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost,IP:127.0.0.1 -keyout ${name}.key -out ${name}.pem`.split(
          ' ',
        ),
        { cwd: folder, stdio: 'ignore' },
      );
    return null;
  } catch {
    return 'openssl is not there';
  }
})();

const configOf = (tls: { certFile: string; keyFile: string }) => {
  const dataDir = mkdtempSync(join(folder, 'data-'));
  const file = join(dataDir, 'config.json');
  writeFileSync(file, JSON.stringify({ server: { tls } }));
  return loadConfig({ flags: { data: dataDir, port: '0' }, env: { REINS_API_KEY: 'key-of-this-test' } });
};

const get = (url: string, ca: string) =>
  new Promise<{ status: number | undefined; hsts: unknown; body: string }>((resolve, reject) => {
    const sent = request(url, { ca, headers: { authorization: 'Bearer key-of-this-test' } }, (answer) => {
      let body = '';
      answer.setEncoding('utf8').on('data', (piece: string) => (body += piece));
      answer.on('end', () =>
        resolve({ status: answer.statusCode, hsts: answer.headers['strict-transport-security'], body }),
      );
    });
    sent.on('error', reject).end();
  });

test.skipIf(opensslProblem !== null)(
  'a server with a certificate speaks TLS itself, says so in links and headers, and refuses what is not TLS (UD-71)',
  async () => {
    // Paths of the file count from its folder.
    const server = await createServer(configOf({ certFile: '../one.pem', keyFile: '../one.key' }), {
      logger: silentLogger,
    });
    try {
      const { url } = await server.listen();
      expect(url).toMatch(/^https:/);
      const answer = await get(`${url}/v1/harnesses`, readFileSync(join(folder, 'one.pem'), 'utf8'));
      expect(answer).toMatchObject({ status: 200, hsts: expect.stringContaining('max-age=') });
      await expect(fetch(url.replace('https:', 'http:'))).rejects.toThrow();
    } finally {
      await server.close();
    }
  },
  20_000,
);

test.skipIf(opensslProblem !== null)('a certificate that cannot work stops the start and is named', async () => {
  const start = (certFile: string, keyFile: string) =>
    createServer(configOf({ certFile: join(folder, certFile), keyFile: join(folder, keyFile) }), {
      logger: silentLogger,
    });
  await expect(start('one.pem', 'two.key')).rejects.toThrow(/is not the one of the certificate/);
  await expect(start('none.pem', 'one.key')).rejects.toThrow(ConfigurationError);
  await expect(start('one.key', 'one.key')).rejects.toThrow(/holds no certificate/);
});
