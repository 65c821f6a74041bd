import { Icon } from './icon.tsx';
import { IconButton } from './icon-button.tsx';
import { sessionIdOf } from '../state/state.ts';
import { sizeText } from './size-text.ts';
import { useConsole, useStore } from './use-console.ts';
import type { UhpFile } from '../state/wire.ts';

/** What the agent has made (C-053). */
export function FileList() {
  const store = useStore();
  const files = useConsole((state) => state.files);
  const sessionId = useConsole(sessionIdOf);
  const title = useConsole(({ session }) => (session.kind === 'open' ? session.title : ''));
  if (files.length === 0) return <p className="hint empty">What the agent makes in this session is listed here.</p>;
  return (
    <>
      <ul className="files">
        {files.map((file) => (
          <FileItem key={file.id} file={file} />
        ))}
      </ul>
      {sessionId !== null && (
        <button type="button" className="wide-button" onClick={() => store.files.downloadAll(sessionId, title)}>
          <Icon name="download" />
          Download all
        </button>
      )}
    </>
  );
}

function FileItem({ file }: { readonly file: UhpFile }) {
  const store = useStore();
  const { id, filename, bytes, reins_deleted: deleted = false } = file;
  const at = filename.lastIndexOf('/') + 1;
  return (
    <li className="file">
      <button
        type="button"
        className="file-open"
        title={filename}
        onClick={() => store.dispatch({ type: 'overlay_opened', overlay: { kind: 'preview', fileId: id } })}
      >
        <Icon name="file" />
        <span className="file-name">
          <span className="file-folder">{filename.slice(0, at)}</span>
          {filename.slice(at)}
        </span>
        <span className="file-facts">
          {typeOf(filename)} · {sizeText(bytes)}
          {deleted && ' · removed since'}
        </span>
      </button>
      <IconButton icon="download" label={`Download ${filename}`} onClick={() => store.files.download(file)} />
    </li>
  );
}

/** By its name, which is all that is known. */
function typeOf(filename: string): string {
  const ending = /\.([a-z0-9]{1,8})$/i.exec(filename)?.[1];
  return ending === undefined ? 'file' : ending.toUpperCase();
}
