/** Resolves when either signal aborts; leaves no listener behind (E-847). */
export function aborted(one: AbortSignal, other: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const either = () => {
      one.removeEventListener('abort', either);
      other.removeEventListener('abort', either);
      resolve();
    };
    if (one.aborted || other.aborted) return either();
    one.addEventListener('abort', either);
    other.addEventListener('abort', either);
  });
}
