import { ReinsError } from '../../core/errors.ts';

/** `unencodable` is of writing, all others are of reading. */
export type StreamPartErrorCode =
  | 'not_json'
  | 'not_object'
  | 'missing_type'
  | 'unknown_type'
  | 'missing_key'
  | 'bad_value'
  | 'too_large'
  | 'unencodable';

export interface StreamPartFault {
  /** Null: the part did not say. */
  readonly partType?: string | null;
  /** Dotted, as `usage.inputTokens.total`. Empty: the part itself. */
  readonly path?: string;
  readonly cause?: unknown;
}

/** This is no part, or none that may be sent. The message holds keys, never a value (P-011). */
export class StreamPartError extends ReinsError {
  readonly code: StreamPartErrorCode;
  readonly partType: string | null;
  readonly path: string;
  constructor(code: StreamPartErrorCode, { partType = null, path = '', cause }: StreamPartFault = {}) {
    const what = `${path === '' ? 'A part' : `"${path}" of a part`}${partType === null ? '' : ` of type "${partType}"`}`;
    super(code === 'unknown_type' ? sentences.unknown_type : `${what} ${sentences[code]}`, { cause });
    this.code = code;
    this.partType = partType;
    this.path = path;
  }
}

const sentences: Readonly<Record<StreamPartErrorCode, string>> = {
  not_json: 'must be JSON.',
  not_object: 'must be an object.',
  missing_type: 'must have a string "type".',
  unknown_type: 'A part has a type that is not known here.',
  missing_key: 'is missing.',
  bad_value: 'has a value that it cannot have.',
  too_large: 'is larger, or deeper, than may be read.',
  unencodable: 'cannot be written: it would not be read as what it is.',
};

/** A part of a younger vocabulary: to be kept and passed on, not to fail on (P-030). */
export class UnknownPartTypeError extends StreamPartError {
  declare readonly partType: string;
  readonly value: Readonly<Record<string, unknown>>;
  constructor(partType: string, value: Readonly<Record<string, unknown>>) {
    super('unknown_type', { partType });
    this.value = value;
  }
}
