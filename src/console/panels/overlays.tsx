import { DeleteDialog } from './delete-dialog.tsx';
import { DetailsDialog } from './details-dialog.tsx';
import { FilePreview } from './file-preview.tsx';
import { SettingsDialog } from './settings-dialog.tsx';
import { ShareDialog } from './share-dialog.tsx';
import { useConsole, useStore } from './use-console.ts';

/** The one dialog that is open. The picker and the search stand where they belong. */
export function Overlays() {
  const store = useStore();
  const overlay = useConsole((state) => state.overlay);
  const close = () => store.dispatch({ type: 'overlay_closed' });
  switch (overlay?.kind) {
    case undefined:
    case 'search':
    case 'picker':
      return null;
    case 'share':
      return <ShareDialog onClose={close} />;
    case 'help':
      return <SettingsDialog onClose={close} />;
    case 'turn-details':
      return <DetailsDialog onClose={close} />;
    case 'preview':
      return <FilePreview fileId={overlay.fileId} onClose={close} />;
    case 'delete-session':
      return <DeleteDialog sessionId={overlay.sessionId} onClose={close} />;
  }
}
