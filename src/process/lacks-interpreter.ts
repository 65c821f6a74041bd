import { closeSync, openSync, readSync } from 'node:fs';

const looked = 512;

/**
 * Whether a file is text that names no program to run it in its first line (`#!`). The system refuses it, and what starts
 * processes in its place (`execvp`) gives it to the shell, which takes it for commands of its own: silence, or worse. Of a file that this
 * user may not read nobody knows: false.
 */
export function lacksInterpreter(path: string): boolean {
  if (process.platform === 'win32') return false;
  const bytes = Buffer.alloc(looked);
  const file = opened(path);
  if (file === null) return false;
  try {
    const start = bytes.subarray(0, readSync(file, bytes));
    // Programs of every kind have a zero byte near their beginning, and text has none.
    return !start.toString('latin1').startsWith('#!') && !start.includes(0);
  } finally {
    closeSync(file);
  }
}

function opened(path: string): number | null {
  try {
    return openSync(path, 'r');
  } catch {
    return null;
  }
}
