import { join } from 'node:path';
import type { JsonObject } from '../../core/json.ts';
import type { UserPart } from '../../core/run-event.ts';

/** What a person said, as Codex takes it. */
export function inputOf(content: readonly UserPart[], workspace: string): readonly JsonObject[] {
  return content.map((part) => {
    if (part.type === 'media' && part.path !== undefined && part.mediaType.startsWith('image/'))
      return { type: 'localImage', path: join(workspace, part.path) };
    return { type: 'text', text: textOf(part), text_elements: [] };
  });
}

function textOf(part: UserPart): string {
  switch (part.type) {
    case 'text':
      return part.text;
    case 'file':
      return `Attached file ${JSON.stringify(part.filename)}${placeOf(part.path)}:\n${part.text}`;
    case 'media':
      return `Attached file ${JSON.stringify(part.filename ?? part.mediaType)}${placeOf(part.path)}.`;
  }
}

const placeOf = (path: string | undefined) =>
  path === undefined ? '' : ` (in the working directory as ${JSON.stringify(path)})`;
