/**
 * The promise, or a rejection with the signal's reason as soon as that aborts. What comes late is handed to `discard`; its
 * error is nobody's. Leaves no listener behind (E-847).
 */
export function untilAborted<T>(
  promise: Promise<T>,
  signal: AbortSignal,
  discard: (late: T) => unknown = () => undefined,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => {
      reject(signal.reason);
      promise.then(discard).catch(() => undefined);
    };
    if (signal.aborted) return onAbort();
    signal.addEventListener('abort', onAbort);
    const letGo = () => signal.removeEventListener('abort', onAbort);
    promise.then(
      (value) => (letGo(), resolve(value)),
      (error: unknown) => (letGo(), reject(error)),
    );
  });
}
