// The panels over a store that a test plays scenes to (`test/support/console-scenes.ts`), without a server.

import { App } from '../app.tsx';
import { createLocalStore, type LocalStore } from './local-store.ts';
import { fetchParts } from '../panels/page-parts.ts';
import { createRoot } from 'react-dom/client';
import type { FileDoor } from '../panels/console-store.ts';

declare global {
  var gallery: LocalStore;
  var asked: string[];
}

globalThis.asked = [];
const files: FileDoor = {
  attach(_content, name) {
    const id = `file ${globalThis.asked.push(`attach ${name}`)}`;
    globalThis.gallery.dispatch({ type: 'attachment_added', id, name });
  },
  preview: async ({ filename }) =>
    filename.endsWith('.png')
      ? { kind: 'image', blob: await dot() }
      : { kind: 'text', text: `The text of ${filename}\n<b>is text</b>`, whole: false },
  download: ({ filename }) => void globalThis.asked.push(`download ${filename}`),
  downloadAll: (sessionId) => void globalThis.asked.push(`download all of ${sessionId}`),
  output: async (_responseId, callId) => `All that ${callId} gave`,
};
globalThis.gallery = createLocalStore(files);

async function dot(): Promise<Blob> {
  const canvas = new OffscreenCanvas(320, 180);
  const pen = canvas.getContext('2d');
  if (pen !== null) pen.fillStyle = 'teal';
  pen?.fillRect(0, 0, 320, 180);
  return canvas.convertToBlob();
}

// Scenes are looked at as they are in the end.
await fetchParts();
const root = document.querySelector('#root');
if (root !== null)
  createRoot(root).render(
    <App store={globalThis.gallery} principal="owner" onSignOut={() => void globalThis.asked.push('sign out')} />,
  );
