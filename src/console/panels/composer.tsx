import { useRef, useState, type ClipboardEvent } from 'react';
import { AttachmentList } from './attachment-list.tsx';
import { draftCounter, maxDraftBytes } from '../state/composer.ts';
import { composerId } from './focus-message.ts';
import { IconButton } from './icon-button.tsx';
import { clientRandom } from '../../client/system.ts';
import { Picker } from './picker.tsx';
import { sizeText } from './size-text.ts';
import { SendButton } from './send-button.tsx';
import { useConsole, useStore } from './use-console.ts';
import { useFocused } from './use-focused.ts';
import { utf8Bytes } from '../state/utf8.ts';

/** From here on a pasted text is rather a file; it is asked. */
const longPasteBytes = 32_768;

export function Composer() {
  const store = useStore();
  const field = useFocused<HTMLTextAreaElement>();
  const draft = useConsole((state) => state.composer.draft);
  const [pasted, setPasted] = useState<string | null>(null);
  const onPaste = (event: ClipboardEvent) => {
    const { files } = event.clipboardData;
    const text = event.clipboardData.getData('text/plain');
    if (files.length > 0 && text === '') {
      event.preventDefault();
      for (const file of files) store.files.attach(file, file.name);
    } else if (utf8Bytes(text) > longPasteBytes) {
      event.preventDefault();
      setPasted(text);
    }
  };
  return (
    <div className="composer">
      <ForkNote />
      {pasted !== null && <PasteOffer text={pasted} onEnd={() => setPasted(null)} />}
      <AttachmentList />
      <textarea
        id={composerId}
        className="composer-text"
        aria-label="Message"
        placeholder="Ask the agent to do something"
        rows={1}
        ref={field}
        value={draft}
        onChange={(event) => store.dispatch({ type: 'draft_changed', draft: event.currentTarget.value })}
        onPaste={onPaste}
      />
      <div className="composer-bar">
        <AttachButton />
        <Picker />
        <Counter draft={draft} />
        <SendButton onSend={() => store.dispatch({ type: 'submit', id: clientRandom.token() })} />
      </div>
    </div>
  );
}

function AttachButton() {
  const store = useStore();
  const field = useRef<HTMLInputElement>(null);
  return (
    <>
      <IconButton icon="clip" label="Attach files" onClick={() => field.current?.click()} />
      <input
        ref={field}
        type="file"
        multiple
        hidden
        aria-label="Files"
        onChange={(event) => {
          for (const file of event.currentTarget.files ?? []) store.files.attach(file, file.name);
          // The same file can be chosen again.
          event.currentTarget.value = '';
        }}
      />
    </>
  );
}

function Counter({ draft }: { readonly draft: string }) {
  const text = draftCounter(draft);
  if (text === null) return null;
  return <span className={utf8Bytes(draft) > maxDraftBytes ? 'counter bad' : 'counter'}>{text}</span>;
}

function ForkNote() {
  const store = useStore();
  const fork = useConsole((state) => state.composer.fork);
  if (fork === null) return null;
  return (
    <p className="composer-note">
      <span>
        {fork.kind === 'start'
          ? 'Starts a new session in place of this one, in an empty folder.'
          : 'Starts a new session that has this one’s past up to there, and its folder as it was then.'}
      </span>
      <IconButton icon="close" label="Do not fork" onClick={() => store.dispatch({ type: 'fork_dropped' })} />
    </p>
  );
}

/** Nothing of it is lost: it waits here until it is told where it goes (C-047). */
function PasteOffer({ text, onEnd }: { readonly text: string; readonly onEnd: () => void }) {
  const store = useStore();
  const { draft } = store.getState().composer;
  const bytes = utf8Bytes(text);
  const attach = () => {
    store.files.attach(new Blob([text], { type: 'text/plain' }), 'pasted-text.txt');
    onEnd();
  };
  const insert = () => {
    store.dispatch({ type: 'draft_changed', draft: draft + text });
    onEnd();
  };
  return (
    <div className="composer-note">
      <span>The pasted text is long ({sizeText(bytes)}).</span>
      <button type="button" className="primary" onClick={attach}>
        Attach as a file
      </button>
      {bytes + utf8Bytes(draft) <= maxDraftBytes && (
        <button type="button" onClick={insert}>
          Insert
        </button>
      )}
      <IconButton icon="close" label="Do not paste" onClick={onEnd} />
    </div>
  );
}
