import { DeleteDialog } from './delete-dialog.tsx';
import { DetailsDialog } from './details-dialog.tsx';
import { FilePreview } from './file-preview.tsx';
import { SettingsDialog } from './settings-dialog.tsx';
import { ShareDialog } from './share-dialog.tsx';
import type { DialogOverlay } from '../state/state.ts';

export function OpenDialog({ overlay, onClose }: { readonly overlay: DialogOverlay; readonly onClose: () => void }) {
  switch (overlay.kind) {
    case 'share':
      return <ShareDialog onClose={onClose} />;
    case 'help':
      return <SettingsDialog onClose={onClose} />;
    case 'turn-details':
      return <DetailsDialog onClose={onClose} />;
    case 'preview':
      return <FilePreview fileId={overlay.fileId} onClose={onClose} />;
    case 'delete-session':
      return <DeleteDialog sessionId={overlay.sessionId} onClose={onClose} />;
  }
}
