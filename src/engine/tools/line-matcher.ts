import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { LineMatch, MatchRequest } from './match-lines.ts';
import { ToolRefusal } from './tool-refusal.ts';

/** Tests lines against an expression of the model, one text at a time. */
export interface LineMatcher extends AsyncDisposable {
  match(request: MatchRequest): Promise<readonly LineMatch[]>;
}

/**
 * The expression runs in a thread of its own with bounded memory: a catastrophic one cannot hold up the process, and the
 * signal ends it at once. The bound in time is the tool's timeout, which aborts that signal.
 */
export function createLineMatcher(expression: RegExp, signal: AbortSignal): LineMatcher {
  signal.throwIfAborted(); // an abort of before is not told to a listener of now
  const worker = new Worker(new URL(`./match-lines${extname(import.meta.url)}`, import.meta.url), {
    workerData: expression,
    env: {},
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: 128 },
  });
  let waiting: PromiseWithResolvers<readonly LineMatch[]> | null = null;
  let hasEnded = false;
  const stop = () => void worker.terminate();
  worker.on('message', (matches: readonly LineMatch[]) => waiting?.resolve(matches));
  worker.on('error', () => {}); // always followed by `exit`
  worker.on('exit', () => {
    hasEnded = true;
    waiting?.reject(new ToolRefusal('The search was given up: the pattern needs too much memory.'));
  });
  signal.addEventListener('abort', stop, { once: true });
  return {
    match(request) {
      waiting = Promise.withResolvers();
      if (hasEnded) waiting.reject(new ToolRefusal('The search has ended.'));
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
      else worker.postMessage(request);
      return waiting.promise;
    },
    async [Symbol.asyncDispose]() {
      signal.removeEventListener('abort', stop);
      waiting = null;
      await worker.terminate();
    },
  };
}
