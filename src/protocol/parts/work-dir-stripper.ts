import { directoryOf, stripText } from './strip-text.ts';
import { isReset } from './is-reset.ts';
import { stripWorkDir } from './strip-work-dir.ts';
import type { StreamPart } from './stream-part.ts';

interface Held {
  readonly held: string;
  readonly before: string;
}

/**
 * `stripWorkDir` for a stream: tool input is read across its pieces, however it was cut. A piece of which nothing is left is
 * left out; what was held back comes as a piece of its own before the end of its input (P-044).
 */
export function createWorkDirStripper(dir: string): (part: StreamPart) => readonly StreamPart[] {
  const directory = directoryOf(dir);
  if (directory === '') return (part) => [part];
  const inputs = new Map<string, Held>();
  const heldOf = (id: string) => inputs.get(id) ?? { held: '', before: '' };
  return (part) => {
    if (part.type === 'tool-input-delta') {
      const { held, before } = heldOf(part.id);
      const next = stripText(held + part.delta, { dir: directory, before, final: false });
      inputs.set(part.id, next);
      return next.output === '' ? [] : [{ ...part, delta: next.output }];
    }
    if (part.type === 'tool-input-end') {
      const { held, before } = heldOf(part.id);
      inputs.delete(part.id);
      const { output } = stripText(held, { dir: directory, before, final: true });
      return output === '' ? [part] : [{ type: 'tool-input-delta', id: part.id, delta: output }, part];
    }
    if (part.type === 'tool-input-start') inputs.delete(part.id);
    if (part.type === 'tool-call') inputs.delete(part.toolCallId);
    // What an attempt had shown of its calls is not gone on with.
    if (isReset(part)) inputs.clear();
    return [stripWorkDir(part, directory)];
  };
}
