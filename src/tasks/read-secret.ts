import { harnessIds } from '../core/ids.ts';
import { secretIdOf } from '../core/secret-handle.ts';
import type { Store } from '../stores/store.ts';

/**
 * The value of a header by the handle that a run has of it (`secretHeaders`), ready to be sent: a token comes with its
 * scheme. Null: the harness has no such secret any more. Also of a deleted harness: its last task may still be at work.
 */
export async function readSecret(
  { store }: { readonly store: Pick<Store, 'harness'> },
  harnessId: string,
  handle: string,
): Promise<string | null> {
  const [id, key] = [secretIdOf(handle), harnessIds.parse(harnessId)];
  const harness = id === null || key === undefined ? null : await store.harness(key);
  for (const { headers, auth } of harness?.setup.mcpServers ?? []) {
    if (auth?.id === id && auth !== null) return /^[A-Za-z]+ \S/.test(auth.value) ? auth.value : `Bearer ${auth.value}`;
    const header = Object.values(headers).find((secret) => secret.id === id);
    if (header !== undefined) return header.value;
  }
  return null;
}
