import { head, tail } from './text.ts';

export interface HeadAndTailOptions {
  /** UTF-16 units kept at the front and at the back. */
  readonly head: number;
  readonly tail: number;
  readonly callId: string;
}

/**
 * What the model reads of a result that is kept whole elsewhere: head and tail, and between them one line that says how
 * much is missing and how to page through it (E-550). Cuts fall between code points; short text comes back as it is.
 */
export function headAndTail(text: string, { head: headUnits, tail: tailUnits, callId }: HeadAndTailOptions): string {
  if (text.length <= headUnits + tailUnits) return text;
  const [start, end] = [head(text, headUnits), tail(text, tailUnits)];
  const missing = text.length - start.length - end.length;
  const page = `read_tool_result(id: ${JSON.stringify(callId)}, offset: ${start.length}, limit: ${Math.min(missing, 8000)})`;
  return `${start}\n[… ${missing} of ${text.length} characters left out; read on with ${page} …]\n${end}`;
}
