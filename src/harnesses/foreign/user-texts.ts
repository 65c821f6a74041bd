import type { UserPart } from '../../core/run-event.ts';

/** A message for a runtime that takes texts alone, one a part; where a file lies stands for what is no text. */
export function userTexts(content: readonly UserPart[]): readonly string[] {
  return content.map((part) => {
    switch (part.type) {
      case 'text':
        return part.text;
      case 'file':
        return `Attached file ${JSON.stringify(part.filename)}${placeOf(part.path)}:\n${part.text}`;
      case 'media': {
        const name = part.filename === undefined ? '' : ` ${JSON.stringify(part.filename)}`;
        const place = part.path === undefined ? ' could not be handed over' : placeOf(part.path);
        return `[The attached file${name} (${part.mediaType}, ${part.bytes} bytes)${place}.]`;
      }
    }
  });
}

const placeOf = (path: string | undefined) =>
  path === undefined ? '' : ` (in the working directory as ${JSON.stringify(path)})`;
