import type { JsonObject } from '../../core/json.ts';
import type { RequestError, RequestErrorType } from '../../core/errors.ts';

/** All five keys are always there (U-051). `message` is safe to show (U-052). */
export type ErrorBody = {
  readonly type: RequestErrorType;
  readonly code: string;
  readonly message: string;
  readonly param: string | null;
  readonly detail: JsonObject | null;
};

/** Body of every answer that is not 2xx (U-050). */
export type ErrorEnvelope = { readonly error: ErrorBody };

export function toEnvelope(error: RequestError): ErrorEnvelope {
  return {
    error: {
      type: error.errorType,
      code: error.code,
      message: error.message,
      param: error.param,
      detail: error.detail,
    },
  };
}
