import type { KeyId } from '../core/ids.ts';
import type { KeyRecord } from './keys.ts';
import type { Keys } from './console-sessions.ts';

/** Those of the store, and the one that the operator set for this process. */
export function keysInForce(store: Keys, operatorKey: KeyRecord | null): Keys {
  return {
    keyByHash: async (hash: string) => (hash === operatorKey?.hash ? operatorKey : store.keyByHash(hash)),
    key: async (keyId: KeyId) => (keyId === operatorKey?.keyId ? operatorKey : store.key(keyId)),
  };
}
