import { useState } from 'react';

const shownLines = 24;
const shownUnits = 4_000;

/** Text as it is, never markup (C-004). What is long shows its beginning, without a scroller of its own (C-020). */
export function LongText({ text }: { readonly text: string }) {
  const [all, setAll] = useState(false);
  const head = all ? text : headOf(text);
  return (
    <div className="long-text">
      <pre>{head}</pre>
      {head.length < text.length && (
        <button type="button" className="quiet-button" onClick={() => setAll(true)}>
          Show all {text.length.toLocaleString('en-GB')} characters
        </button>
      )}
    </div>
  );
}

function headOf(text: string): string {
  let end = -1;
  for (let line = 0; line < shownLines; line++) {
    end = text.indexOf('\n', end + 1);
    if (end < 0) break;
  }
  const lines = end < 0 ? text : text.slice(0, end);
  return lines.length <= shownUnits ? lines : lines.slice(0, shownUnits);
}
