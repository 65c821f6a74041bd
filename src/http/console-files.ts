// The built console page, from `dist/console`: read once, at the first request, as its files are few and small. As long as it
// has not been built it is looked for again at each request.

import { createHash } from 'node:crypto';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import mime from 'mime-types';

/** In the order of preference. */
export const encodings = { br: '.br', gzip: '.gz' } as const;
export type Encoding = keyof typeof encodings;

export interface ConsoleFile {
  readonly type: string;
  readonly etag: string;
  readonly body: Buffer;
  readonly encoded: Readonly<Partial<Record<Encoding, Buffer>>>;
}

export interface ConsoleFiles {
  /** Null: the page is not built. */
  index(): ConsoleFile | null;
  /** What the page loads: its name has a hash of the content in it. */
  asset(name: string): ConsoleFile | null;
}

export function openConsoleFiles(folder: string): ConsoleFiles {
  let built: ReturnType<typeof read> | null = null;
  const files = () => (built ??= existsSync(join(folder, 'index.html')) ? read(folder) : null);
  return {
    index: () => files()?.index ?? null,
    asset: (name) => files()?.assets.get(name) ?? null,
  };
}

function read(folder: string): { readonly index: ConsoleFile; readonly assets: ReadonlyMap<string, ConsoleFile> } {
  const assets = join(folder, 'assets');
  const compressed: readonly string[] = Object.values(encodings);
  const names = readdirSync(assets).filter((name) => !compressed.some((suffix) => name.endsWith(suffix)));
  return {
    index: readConsoleFile(folder, 'index.html'),
    assets: new Map(names.map((name) => [name, readConsoleFile(assets, name)])),
  };
}

function readConsoleFile(folder: string, name: string): ConsoleFile {
  const path = join(folder, name);
  const body = readFileSync(path);
  const encoded: Partial<Record<Encoding, Buffer>> = {};
  for (const encoding of ['br', 'gzip'] as const) {
    const beside = `${path}${encodings[encoding]}`;
    if (existsSync(beside)) encoded[encoding] = readFileSync(beside);
  }
  return {
    type: mime.contentType(name) || 'application/octet-stream',
    // Weak: one for all encodings.
    etag: `W/"${createHash('sha256').update(body).digest('base64url')}"`,
    body,
    encoded,
  };
}
