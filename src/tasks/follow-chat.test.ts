import { expect, test } from 'vitest';
import { followChat } from './follow-chat.ts';
import { plainForm } from '../views/ui-view.ts';
import { runIds } from '../core/ids.ts';
import type { Services } from './services.ts';

test('P-095: what the log cannot say is told by an id alone, which the operator finds with its cause', async () => {
  const logged: unknown[] = [];
  const services = {
    log: {
      async *follow() {
        throw new Error('disk I/O error at /secret/path');
      },
    },
    logger: { error: (...said: readonly unknown[]) => void logged.push(said) },
  } as unknown as Services;
  const place = { runId: runIds.make('1'), message: 0, after: 0 };
  const signal = new AbortController().signal;
  const chunks = await Array.fromAsync(followChat(services, place, { form: plainForm, errorId: 'req_7', signal }));
  expect(chunks.flat()).toEqual([
    { type: 'start', messageId: 'msg_resp_1' },
    { type: 'error', errorText: 'An error occurred. (req_7)' },
  ]);
  expect(JSON.stringify(logged)).toContain('req_7');
});
