// Pictures of the session's own files in an answer (C-061): read with the page's own credential, shown from memory.

import { ownFile } from './own-file.ts';
import { useConsole, useStore } from './use-console.ts';
import { useEffect, type RefObject } from 'react';
import type { FileDoor } from './console-store.ts';
import type { UhpFile } from '../state/wire.ts';

/** A larger one is shown when it is asked for. */
const maxBytes = 5 * 1024 * 1024;
const pictures = /\.(?:png|jpe?g|gif|webp)$/i;
const none: readonly UhpFile[] = [];

/** @param text  Of the answer, whole; null: there is more to come. */
export function usePictures(block: RefObject<HTMLElement | null>, text: string | null): void {
  const store = useStore();
  const has = text?.includes('![') === true;
  const files = useConsole((state) => (has ? state.files : none));
  useEffect(() => {
    if (block.current === null || files.length === 0) return;
    const links = [...block.current.querySelectorAll('a')].flatMap((link) => {
      const file = link.textContent.startsWith('[image') ? ownFile(files, link.getAttribute('href') ?? '') : null;
      return file !== null && pictures.test(file.filename) && file.bytes <= maxBytes ? [[link, file] as const] : [];
    });
    return showInSight(new Map(links), store.files.preview);
  }, [store, block, text, files]);
}

/** @returns  Ends it. */
function showInSight(links: ReadonlyMap<Element, UhpFile>, preview: FileDoor['preview']): () => void {
  const ending = new AbortController();
  const made: string[] = [];
  const show = async (link: Element, file: UhpFile) => {
    const read = await preview(file, ending.signal).catch(() => null);
    if (read?.kind !== 'image' || ending.signal.aborted) return;
    const image = document.createElement('img');
    image.alt = link.textContent.replace(/^\[image:? ?|\]$/g, '');
    image.src = URL.createObjectURL(read.blob);
    made.push(image.src);
    link.replaceChildren(image);
  };
  const sight = new IntersectionObserver((seen) => {
    for (const { isIntersecting, target } of seen) {
      const file = links.get(target);
      if (!isIntersecting || file === undefined) continue;
      sight.unobserve(target);
      void show(target, file);
    }
  });
  for (const link of links.keys()) sight.observe(link);
  return () => {
    sight.disconnect();
    ending.abort();
    made.forEach((address) => URL.revokeObjectURL(address));
  };
}
