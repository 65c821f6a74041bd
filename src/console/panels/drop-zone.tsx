import { useEffect, useState } from 'react';
import { useStore } from './use-console.ts';

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
      for (const file of event.dataTransfer?.files ?? []) store.files.attach(file, file.name);
    };
    document.addEventListener('dragover', onOver, { signal });
    document.addEventListener('dragleave', onLeave, { signal });
    document.addEventListener('drop', onDrop, { signal });
    return () => listening.abort();
  }, [store]);
  return over ? <div className="drop-zone">Drop to attach</div> : null;
}
