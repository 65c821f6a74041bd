/** One of the process's two outputs. */
export interface Output {
  readonly isTerminal: boolean;
  write(text: string | Uint8Array): void;
  /** Resolves when all that was written is out, or can never get out (B138). */
  flush(): Promise<void>;
  /** What went wrong with the output itself, apart from a reader that left. */
  readonly failure: Error | null;
  /** Aborts when the reader has left, as far as writing shows it. */
  readonly left: AbortSignal;
}

/** A reader that leaves (`reins run … | head`) ends the output and nothing else; what else it means, each verb decides. */
export function createOutput(stream: NodeJS.WriteStream): Output {
  let state: 'open' | 'left' | Error = 'open';
  const reader = new AbortController();
  stream.on('error', (error: NodeJS.ErrnoException) => {
    state = error.code === 'EPIPE' ? 'left' : error;
    if (state === 'left') reader.abort();
  });
  return {
    isTerminal: stream.isTTY,
    left: reader.signal,
    write(text) {
      if (state === 'open') stream.write(text);
    },
    flush: () => new Promise((resolve) => (state === 'open' ? stream.write('', () => resolve()) : resolve())),
    get failure() {
      return typeof state === 'string' ? null : state;
    },
  };
}

/** What a model, a tool or a user wrote must not steer the terminal: control characters other than tab and line end go. */
export function printable(text: string): string {
  return text.replaceAll(/[^\P{Cc}\n\t]/gu, '');
}

/** A line of text that others had a hand in. */
export function show(out: Output, text: string): void {
  out.write(`${out.isTerminal ? printable(text) : text}\n`);
}
