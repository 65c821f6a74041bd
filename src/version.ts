import { readFileSync } from 'node:fs';

/** The version of this package, from its manifest: it lies beside `src/` as it does beside `dist/`. */
export function packageVersion(): string {
  const manifest: unknown = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
  const known = typeof manifest === 'object' && manifest !== null && 'version' in manifest;
  return known ? String(manifest.version) : 'unknown';
}
