import { useState } from 'react';

const shownLines = 24;
const shownUnits = 4_000;

interface LongTextProps {
  readonly text: string;
  /** Reads what the text itself leaves out; null: it is all there is. */
  readonly readWhole?: (() => Promise<string | null>) | null;
}

/** Text as it is, never markup (C-004). What is long shows its beginning, without a scroller of its own (C-020). */
export function LongText({ text, readWhole = null }: LongTextProps) {
  const [all, setAll] = useState(false);
  const [whole, setWhole] = useState<string | null>(null);
  const known = whole ?? text;
  const head = all ? known : headOf(known);
  const isPart = readWhole !== null && whole === null;
  const show = async () => {
    setWhole(isPart ? await readWhole() : whole);
    setAll(true);
  };
  return (
    <div className="long-text">
      <pre>{head}</pre>
      {(head.length < known.length || isPart) && (
        <button type="button" className="quiet-button" onClick={() => void show()}>
          {isPart ? 'Show all of it' : `Show all ${known.length.toLocaleString('en-GB')} characters`}
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
