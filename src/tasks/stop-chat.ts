import { findBegunChat } from './find-chat.ts';
import { stopRun } from './cancel-task.ts';
import type { Services } from './services.ts';

/** Ends the turn at work, as nothing else does that a client can do to a stream (P-092). False: there was none. */
export async function stopChat(services: Services, principal: string, chatId: string): Promise<boolean> {
  const { runningRunId } = await findBegunChat(services, principal, chatId);
  if (runningRunId === null) return false;
  await stopRun(services, runningRunId);
  return true;
}
