import { join } from 'node:path';
import { userTexts } from '../foreign/user-texts.ts';
import type { JsonObject } from '../../core/json.ts';
import type { UserPart } from '../../core/run-event.ts';

/** What a person said, as Codex takes it. */
export function inputOf(content: readonly UserPart[], workspace: string): readonly JsonObject[] {
  return content.flatMap((part): readonly JsonObject[] =>
    part.type === 'media' && part.path !== undefined && part.mediaType.startsWith('image/')
      ? [{ type: 'localImage', path: join(workspace, part.path) }]
      : userTexts([part]).map((text) => ({ type: 'text', text, text_elements: [] })),
  );
}
