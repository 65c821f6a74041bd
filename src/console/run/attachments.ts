import { messageOf } from './call-failures.ts';
import type { ActionLoop } from './action-loop.ts';
import type { Client } from '../../client/index.ts';
import type { Effect } from '../state/effect.ts';

export interface Attachments {
  readonly add: (content: Blob, name: string) => void;
  upload(effect: Extract<Effect, { type: 'upload' }>): Promise<void>;
}

/** The content of files on their way to the server; the page's state knows them by id and name. */
export function createAttachments(client: Client, dispatch: ActionLoop['dispatch'], newId: () => string): Attachments {
  const contents = new Map<string, Blob>();
  return {
    add(content, name) {
      const id = newId();
      contents.set(id, content);
      dispatch({ type: 'attachment_added', id, name });
    },
    async upload({ id, name }) {
      const content = contents.get(id) ?? new Blob([]);
      contents.delete(id);
      try {
        const { id: fileId } = await client.files.upload(content, { filename: name });
        dispatch({ type: 'attachment_changed', attachment: { kind: 'ready', id, name, fileId } });
      } catch (error) {
        const message = messageOf(error);
        dispatch({ type: 'attachment_changed', attachment: { kind: 'failed', id, name, message } });
      }
    },
  };
}
