import type { UhpFile } from '../state/wire.ts';

/** The file of the session that an address in an answer names, as it stands from the session's folder; null: none. */
export function ownFile(files: readonly UhpFile[], address: string): UhpFile | null {
  if (/^(?:[a-z][a-z\d+.-]*:|[/\\#?])/i.test(address)) return null;
  const path = decoded(address.replace(/[?#].*$/, '')).replace(/^(?:\.\/)+/, '');
  return files.find(({ filename, reins_deleted }) => filename === path && reins_deleted !== true) ?? null;
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}
