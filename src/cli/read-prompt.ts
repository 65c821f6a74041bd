import type { Readable } from 'node:stream';
import { UsageError } from './verb.ts';

const maxPromptBytes = 4 * 1024 * 1024;

/**
 * The prompt: the word given, or for `-` and for none what is piped in, as UTF-8.
 * @throws UsageError  There is none, it is blank, or it is beyond 4 MiB.
 */
export async function readPrompt(
  word: string | undefined,
  stdin: Readable & { readonly isTTY?: boolean },
): Promise<string> {
  if (word === undefined && stdin.isTTY === true) throw new UsageError('run needs a prompt: reins run "PROMPT".');
  const prompt = word === undefined || word === '-' ? await readAll(stdin) : word;
  if (prompt.trim() === '') throw new UsageError('the prompt is empty.');
  return prompt;
}

async function readAll(stdin: Readable): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of stdin) {
    const piece = Buffer.from(chunk);
    bytes += piece.length;
    if (bytes > maxPromptBytes)
      throw new UsageError('the prompt is larger than 4 MiB; put it into a file of the folder.');
    chunks.push(piece);
  }
  // Decoded once at the end: a character may lie across two chunks.
  return new TextDecoder().decode(Buffer.concat(chunks));
}
