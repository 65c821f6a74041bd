import { ReinsError } from '../../core/errors.ts';
import { head, toWellFormed } from '../../core/text.ts';

/** A tool will not do what was asked. `message` is for the model: it names paths as they were given, never the host's (E-571). */
export class ToolRefusal extends ReinsError {}

/** A path as the model gave it, on one line and short. */
export function quotePath(given: string): string {
  return JSON.stringify(head(toWellFormed(given), 300));
}

/** What the operating system calls an error, such as `ENOENT`; undefined for all other errors. */
export function systemCode(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error) || !('syscall' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}

/** One sentence for the model, or undefined for an error that is a fault of ours. System messages hold host paths, so none is passed on. */
export function explainFileError(error: unknown, given: string): string | undefined {
  if (error instanceof ToolRefusal) return error.message;
  const code = systemCode(error);
  return code === undefined ? undefined : explainCode(code, quotePath(given));
}

function explainCode(code: string, path: string): string {
  switch (code) {
    case 'ENOENT':
      return `There is nothing at ${path}.`;
    case 'ENOTDIR':
      return `A part of ${path} is not a folder.`;
    case 'EISDIR':
      return `${path} is a folder.`;
    case 'ELOOP':
      return `${path} changed into a link while it was opened, or its links lead in a circle.`;
    case 'ENXIO':
      return `${path} is not a regular file.`;
    case 'ENAMETOOLONG':
      return `${path} has a name that is too long.`;
    case 'EACCES':
    case 'EPERM':
    case 'EROFS':
      return `The file system does not permit this for ${path}.`;
    case 'ENOSPC':
    case 'EDQUOT':
      return `There is no room left to write ${path}.`;
    default:
      return `The file system refused ${path} (${code}).`;
  }
}
