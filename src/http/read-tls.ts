import { X509Certificate, createPrivateKey } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { ConfigurationError } from '../core/errors.ts';

/** What a server proves who it is with, as PEM texts. */
export interface TlsMaterial {
  readonly cert: string;
  readonly key: string;
}

/** Where it is kept. */
export interface TlsFiles {
  readonly certFile: string;
  readonly keyFile: string;
}

/**
 * Reads a certificate, its chain after it, and the private key that belongs to it.
 * @throws ConfigurationError  A file cannot be read, is no PEM, is out of date, or the two do not belong together.
 */
export function readTls({ certFile, keyFile }: TlsFiles, nowMs: number): TlsMaterial {
  const cert = readPem(certFile, 'certFile');
  const key = readPem(keyFile, 'keyFile');
  const certificate = parsed(
    () => new X509Certificate(cert),
    `'server.tls.certFile': ${certFile} holds no certificate`,
  );
  const privateKey = parsed(
    () => createPrivateKey(key),
    `'server.tls.keyFile': ${keyFile} holds no private key that can be read without a passphrase`,
  );
  if (!certificate.checkPrivateKey(privateKey))
    throw new ConfigurationError(
      `'server.tls': the key in ${keyFile} is not the one of the certificate in ${certFile}.`,
    );
  if (certificate.validToDate.getTime() <= nowMs)
    throw new ConfigurationError(
      `'server.tls.certFile': the certificate in ${certFile} was good until ${certificate.validToDate.toISOString()}; renew it.`,
    );
  return { cert, key };
}

function readPem(path: string, key: keyof TlsFiles): string {
  return parsed(() => readFileSync(path, 'utf8'), `'server.tls.${key}': ${path} cannot be read`);
}

function parsed<T>(parse: () => T, problem: string): T {
  try {
    return parse();
  } catch (cause) {
    throw new ConfigurationError(`${problem}.`, { cause });
  }
}
