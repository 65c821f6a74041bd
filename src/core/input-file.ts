import type { UserMessage, UserPart } from './run-event.ts';

/** A file as a client gives it, before the server has taken it in. `param` names the part that it came with. */
export type InputFile =
  | {
      readonly type: 'given-file';
      /** As the client calls it; null: it does not. */
      readonly filename: string | null;
      readonly mediaType: string;
      readonly bytes: Uint8Array;
      readonly param: string;
    }
  | {
      readonly type: 'named-file';
      /** Of an upload or an artifact; may be invented. */
      readonly fileId: string;
      readonly filename: string | null;
      readonly param: string;
    };

export type InputPart = UserPart | InputFile;

export interface InputMessage {
  readonly content: readonly InputPart[];
  readonly messageId?: string;
}

export function isInputFile(part: InputPart): part is InputFile {
  return part.type === 'given-file' || part.type === 'named-file';
}

/** Whether all files of these messages are taken in. */
export function areTakenIn(messages: readonly InputMessage[]): messages is readonly UserMessage[] {
  return messages.every(({ content }) => !content.some(isInputFile));
}
