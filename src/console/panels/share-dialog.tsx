import { useEffect } from 'react';
import { CopyButton } from './copy-button.tsx';
import { Dialog } from './dialog.tsx';
import { useConsole, useStore } from './use-console.ts';

export function ShareDialog({ onClose }: { readonly onClose: () => void }) {
  const store = useStore();
  const share = useConsole((state) => state.share);
  useEffect(() => store.dispatch({ type: 'share_asked', want: 'read' }), [store]);
  const ask = (want: 'on' | 'off') => store.dispatch({ type: 'share_asked', want });
  const link = share.kind === 'on' ? new URL(share.share.url, location.origin).href : null;
  return (
    <Dialog title="Share this session" onClose={onClose}>
      <p>
        Whoever has the link can read what was said and done here, with all that calls were made with: commands, and the
        texts that were written to files. They cannot write, and download nothing.
      </p>
      {link === null ? (
        <footer className="dialog-foot">
          <button type="button" className="primary" disabled={share.kind === 'asking'} onClick={() => ask('on')}>
            Create a link
          </button>
        </footer>
      ) : (
        <>
          <div className="share-link">
            <input aria-label="Link" readOnly value={link} onFocus={(event) => event.currentTarget.select()} />
            <CopyButton text={() => link} label="Copy the link" />
          </div>
          <footer className="dialog-foot">
            <button type="button" className="danger" onClick={() => ask('off')}>
              Stop sharing
            </button>
          </footer>
        </>
      )}
    </Dialog>
  );
}
