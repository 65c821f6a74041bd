/** One after the other, all of them whatever fails (E-024). */
export async function closeInOrder(parts: readonly AsyncDisposable[]): Promise<void> {
  const faults: unknown[] = [];
  for (const part of parts)
    try {
      await part[Symbol.asyncDispose]();
    } catch (fault) {
      faults.push(fault);
    }
  if (faults.length > 0) throw new AggregateError(faults, 'Parts of the agent could not be closed.');
}
