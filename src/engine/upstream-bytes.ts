/**
 * Bytes of a response show that its connection lives, also those that no provider's client passes on, such as comments
 * between events (E-302). The abort signal of a request is all that goes through every client unchanged, so it is the name
 * under which the HTTP client tells of them.
 */
const listeners = new WeakMap<AbortSignal, () => void>();

export function listenToBytes(signal: AbortSignal, callback: () => void): void {
  listeners.set(signal, callback);
}

export function bytesListener(signal: AbortSignal | null): (() => void) | undefined {
  return signal === null ? undefined : listeners.get(signal);
}
