import { Icon } from './icon.tsx';
import { IconButton } from './icon-button.tsx';
import { useConsole, useStore } from './use-console.ts';

export function AttachmentList() {
  const store = useStore();
  const attachments = useConsole((state) => state.composer.attachments);
  if (attachments.length === 0) return null;
  return (
    <ul className="attachments" aria-label="Attached files">
      {attachments.map((file) => (
        <li key={file.id} className={`attachment attachment-${file.kind}`}>
          <Icon name={file.kind === 'failed' ? 'alert' : 'file'} />
          <span className="attachment-name">{file.name}</span>
          {file.kind === 'uploading' && <span className="hint">Uploading…</span>}
          {file.kind === 'failed' && <span className="bad">{file.message}</span>}
          <IconButton
            icon="close"
            label={`Remove ${file.name}`}
            onClick={() => store.dispatch({ type: 'attachment_removed', id: file.id })}
          />
        </li>
      ))}
    </ul>
  );
}
