export interface Server {
  /**
   * Takes over what an earlier process left, then answers requests. `firstKey` is made at the first start that gets this
   * far, to be shown once; null when there is a key already. `consoleUrl` leads to the page; where a browser of this machine
   * can follow it, it signs that in, once and within 10 minutes.
   */
  listen(): Promise<{ readonly url: string; readonly firstKey: string | null; readonly consoleUrl: string }>;
  /**
   * Says for `limits.withdrawSeconds` that it goes, then takes no new work, lets tasks end for `limits.drainSeconds`, leaves
   * the rest to another process or the next start, ends streams in order (E-834). Idempotent.
   */
  close(): Promise<void>;
  /**
   * In place of `listen`: works on the tasks that Temporal starts, and says so once it does; `close` leaves them to others.
   * @throws ConfigurationError  There is no `temporal.address`, or its packages are missing.
   */
  work(): Promise<void>;
}
