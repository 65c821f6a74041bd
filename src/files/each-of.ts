/** Some at a time: what each waits for most is the disk, or the network. After one that fails no more are begun; rejects as it. */
export async function eachOf<T>(items: Iterable<T>, work: (item: T) => Promise<void>): Promise<void> {
  const rest = Iterator.from(items);
  const failed = new AbortController();
  const worker = async () => {
    try {
      for (let next = rest.next(); next.done !== true && !failed.signal.aborted; next = rest.next())
        await work(next.value);
    } catch (cause) {
      failed.abort();
      throw cause;
    }
  };
  const ended = await Promise.allSettled(Array.from({ length: 8 }, worker));
  for (const each of ended) if (each.status === 'rejected') throw each.reason;
}
