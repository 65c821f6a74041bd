import type { ServerResponse } from 'node:http';

/** The calls that a server has open, streams and waiting ones: each ends when its client goes, all when the server closes. */
export interface OpenCalls {
  /** Aborts when the connection of this answer closes, or the server does. Needs no release. */
  signalOf(response: ServerResponse): AbortSignal;
  /** Aborts all open calls and those still to come; resolves when their connections are done. */
  close(): Promise<void>;
  readonly closing: boolean;
  readonly size: number;
}

// Without a reason each abort would make an error, stack and all; nobody looks at it.
const over = new Error('The call is over.');

export function createOpenCalls(): OpenCalls {
  const open = new Map<AbortController, Promise<void>>();
  let closing = false;
  return {
    signalOf(response) {
      const controller = new AbortController();
      if (closing || response.closed) controller.abort(over);
      if (response.closed) return controller.signal;
      const closed = new Promise<void>((resolve) => {
        response.once('close', () => {
          open.delete(controller);
          controller.abort(over);
          resolve();
        });
      });
      open.set(controller, closed);
      return controller.signal;
    },
    async close() {
      closing = true;
      for (const controller of open.keys()) controller.abort(over);
      await Promise.all(open.values());
    },
    get closing() {
      return closing;
    },
    get size() {
      return open.size;
    },
  };
}
