export type InTurn = <T>(key: string, work: () => Promise<T>) => Promise<T>;

/** Does the works of one key one after another, in the order in which they came. A key is forgotten with its last one. */
export function createInTurn(): InTurn {
  const last = new Map<string, Promise<unknown>>();
  return async (key, work) => {
    const before = last.get(key);
    const own = (async () => {
      await before?.catch(() => {}); // its caller hears of it
      return work();
    })();
    last.set(key, own);
    try {
      return await own;
    } finally {
      if (last.get(key) === own) last.delete(key);
    }
  };
}
