import { containerOf, type FileId, type SessionId } from '../core/ids.ts';
import type { Annotation } from '../protocol/uhp/response.ts';
import type { EventData } from '../core/run-event.ts';

type FileChanged = EventData['file-changed'];
type Artifact = Pick<FileChanged, 'path'> & { readonly fileId: FileId };

/** The files of one run for its last message (UD-54), and which of its changes were shown already (UD-82). */
export class UhpArtifacts {
  readonly #made = new Map<string, Artifact>();
  readonly #told = new Map<string, string>();

  /** Whether a change is news: the check of the workspace says again what tools have said. */
  changed({ path, fileId, kind }: FileChanged): boolean {
    const told = this.#told.get(path);
    const word = kind === 'delete' ? 'gone' : 'there';
    this.#told.set(path, word);
    if (fileId !== undefined && kind !== 'delete') this.#made.set(path, { path, fileId });
    return fileId === undefined || told !== word;
  }

  /** Null: there is nothing to cite. */
  annotations(place: {
    readonly sessionId: SessionId;
    readonly linkBase: string;
  }): ((text: string) => readonly Annotation[]) | null {
    if (this.#made.size === 0) return null;
    return (text) => [...this.#made.values()].map((made) => annotationOf(made, text, place));
  }
}

function annotationOf(
  { path, fileId }: Artifact,
  text: string,
  { sessionId, linkBase }: { readonly sessionId: SessionId; readonly linkBase: string },
): Annotation {
  const container = containerOf(sessionId);
  const name = [path, path.slice(path.lastIndexOf('/') + 1)].find((each) => text.includes(each));
  const start = name === undefined ? 0 : text.indexOf(name);
  return {
    type: 'container_file_citation',
    container_id: container,
    file_id: fileId,
    filename: path,
    download_url: `${linkBase}/v1/containers/${container}/files/${fileId}/content`,
    start_index: start,
    end_index: name === undefined ? text.length : start + name.length,
  };
}
