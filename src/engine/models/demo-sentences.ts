// Sentences out of plain text or Markdown, for a model that can only quote. Line based and linear.

const longestRead = 200_000;
const fence = /^ {0,3}(```|~~~)/;
const noProse = /^\s*(?:#{1,6}(?:\s|$)|\||<|!?\[[^\]]*\](?:\(|:)|[-=*_]{3,}\s*$|:?-+:?\s*\|)/;
const marker = /^\s*(?:>\s?)*(?:[-*+]|\d{1,9}[.)])\s+/;
const sentenceEnd = /[.!?…]["'”’)\]`*_]*$/u;

const segmenter = new Intl.Segmenter('en', { granularity: 'sentence' });

/**
 * The sentences of the prose in `text`, in order. Headings, code, tables, images, link lists and rules are no prose.
 * Text without one whole sentence gives what comes nearest: its other prose lines, else its lines.
 */
export function sentencesOf(text: string): readonly string[] {
  const paragraphs = proseParagraphs(text.slice(0, longestRead));
  const segments = paragraphs.flatMap((paragraph) =>
    [...segmenter.segment(paragraph)].map(({ segment }) => segment.trim()),
  );
  const sentences = segments.filter((segment) => sentenceEnd.test(segment) && segment.split(/\s/, 3).length > 2);
  if (sentences.length > 0) return sentences;
  const prose = segments.filter((segment) => /\p{L}/u.test(segment));
  return prose.length > 0
    ? prose
    : text
        .slice(0, longestRead)
        .split('\n')
        .filter((line) => line.trim() !== '');
}

function proseParagraphs(text: string): readonly string[] {
  const paragraphs: string[][] = [[]];
  let closing: string | null = null;
  let quoting = false;
  for (const line of text.split(/\r\n|\r|\n/)) {
    const mark = fence.exec(line)?.[1] ?? null;
    const quoted = /^\s*>/.test(line);
    if (quoted !== quoting) paragraphs.push([]);
    quoting = quoted;
    if (closing !== null || mark !== null) {
      // Inside a fence only the same mark ends it.
      closing = closing === null ? mark : mark === closing ? null : closing;
      paragraphs.push([]);
    } else if (line.trim() === '' || noProse.test(line)) paragraphs.push([]);
    else if (marker.test(line)) paragraphs.push([line.replace(marker, '')]);
    else paragraphs.at(-1)?.push(line.replace(/^\s*(?:>\s?)*/, ''));
  }
  return paragraphs.filter((lines) => lines.length > 0).map((lines) => lines.map((line) => line.trim()).join(' '));
}

/** The sentence that shares most words with the question; the first of equals. */
export function nearestSentence(text: string, question: string): string | null {
  const asked = wordsOf(question);
  const shared = (sentence: string) => wordsOf(sentence).intersection(asked).size;
  let best: { readonly sentence: string; readonly score: number } | null = null;
  for (const sentence of sentencesOf(text)) {
    const score = shared(sentence);
    if (best === null || score > best.score) best = { sentence, score };
  }
  return best?.sentence ?? null;
}

const wordsOf = (text: string): Set<string> => new Set(text.toLowerCase().match(/[\p{L}\p{N}]{3,}/gu) ?? []);

/** What the text says `phrase` is, where some beginning of the phrase stands before "is", ":" or "="; else null. */
export function definitionIn(text: string, phrase: string): string | null {
  const words = phrase.split(/\s+/, 13).filter((word) => word !== '');
  for (let length = words.length; length > 0; length--) {
    const name = words
      .slice(0, length)
      .map((word) => RegExp.escape(word))
      .join('\\s+');
    const said = new RegExp(`(?<![\\p{L}\\p{N}])${name}(?:\\s+is|\\s*[:=])\\s+(\\S.*)`, 'iu').exec(
      text.slice(0, longestRead),
    )?.[1];
    if (said !== undefined) return said.split(/[.!?](?=\s|$)/, 1)[0]?.trim() ?? null;
  }
  return null;
}
