import { useEffect, useState } from 'react';
import { Dialog } from './dialog.tsx';
import { Icon } from './icon.tsx';
import { sizeText } from './size-text.ts';
import { useConsole, useStore } from './use-console.ts';
import type { FilePreview as Preview } from './console-store.ts';

export function FilePreview({ fileId, onClose }: { readonly fileId: string; readonly onClose: () => void }) {
  const store = useStore();
  const file = useConsole((state) => state.files.find(({ id }) => id === fileId));
  const [preview, setPreview] = useState<Preview | null>(null);
  useEffect(() => {
    if (file === undefined) return;
    const reading = new AbortController();
    setPreview(null);
    store.files.preview(file, reading.signal).then(
      (read) => reading.signal.aborted || setPreview(read),
      () => reading.signal.aborted || setPreview({ kind: 'none', why: 'The file could not be read.' }),
    );
    return () => reading.abort();
  }, [file, store]);
  if (file === undefined) return null;
  return (
    <Dialog title={file.filename} form="large" onClose={onClose}>
      <div className="preview" aria-busy={preview === null} tabIndex={0} role="region" aria-label="Content">
        {preview === null ? <p className="hint">Loading…</p> : <Content preview={preview} name={file.filename} />}
      </div>
      <footer className="dialog-foot">
        <span className="hint">{sizeText(file.bytes)}</span>
        <button type="button" onClick={() => store.files.download(file)}>
          <Icon name="download" />
          Download
        </button>
      </footer>
    </Dialog>
  );
}

function Content({ preview, name }: { readonly preview: Preview; readonly name: string }) {
  switch (preview.kind) {
    case 'text':
      return (
        <>
          <pre>{preview.text}</pre>
          {!preview.whole && <p className="hint">This is its beginning; the rest comes with the download.</p>}
        </>
      );
    case 'image':
      return <Picture blob={preview.blob} name={name} />;
    case 'none':
      return <p className="hint">{preview.why}</p>;
  }
}

function Picture({ blob, name }: { readonly blob: Blob; readonly name: string }) {
  const [address, setAddress] = useState<string | null>(null);
  useEffect(() => {
    const made = URL.createObjectURL(blob);
    setAddress(made);
    return () => URL.revokeObjectURL(made);
  }, [blob]);
  return address === null ? null : <img src={address} alt={name} />;
}
