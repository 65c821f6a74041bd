import { useEffect, useState } from 'react';
import { useStore } from './use-console.ts';

const refusedFolder = (name: string) =>
  ({ type: 'failed', id: 'folder', message: `${name} is a folder: attach its files, or a zip of it.` }) as const;

/** Files may be dropped anywhere. */
export function DropZone() {
  const store = useStore();
  const [over, setOver] = useState(false);
  useEffect(() => {
    const listening = new AbortController();
    const { signal } = listening;
    const hasFiles = (event: DragEvent) => event.dataTransfer?.types.includes('Files') === true;
    const onOver = (event: DragEvent) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      setOver(true);
    };
    const onLeave = (event: DragEvent) => event.relatedTarget === null && setOver(false);
    const onDrop = (event: DragEvent) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      setOver(false);
      for (const item of event.dataTransfer?.items ?? []) {
        const file = item.getAsFile();
        // A folder looks like a file that cannot be read.
        if (item.webkitGetAsEntry()?.isDirectory === true) store.dispatch(refusedFolder(file?.name ?? 'A folder'));
        else if (file !== null) store.files.attach(file, file.name);
      }
    };
    document.addEventListener('dragover', onOver, { signal });
    document.addEventListener('dragleave', onLeave, { signal });
    document.addEventListener('drop', onDrop, { signal });
    return () => listening.abort();
  }, [store]);
  return over ? <div className="drop-zone">Drop to attach</div> : null;
}
