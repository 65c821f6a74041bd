import { RequestError } from '../../core/errors.ts';

/** Newest first; the first is the default (UD-72). Each only adds to the one before, so one code path serves all. */
export const versions = ['2026-10-04', '2026-09-28', '2026-09-12', '2026-08-11'] as const;
export type Version = (typeof versions)[number];
export const defaultVersion: Version = versions[0];

/** The version to serve for a `UHP-Version` header (U-021). @throws UnsupportedVersionError */
export function negotiateVersion(header: string | undefined): Version {
  if (header === undefined) return defaultVersion;
  const version = versions.find((known) => known === header.trim());
  if (version === undefined) throw new UnsupportedVersionError();
  return version;
}

/** 400: another version is never served instead; the answer itself carries the default one (U-022). */
export class UnsupportedVersionError extends RequestError {
  constructor() {
    super({
      status: 400,
      errorType: 'invalid_request_error',
      code: 'unsupported_protocol_version',
      message: 'This server does not speak that protocol version; error.detail.supported lists those it does.',
      param: 'UHP-Version',
      detail: { supported: versions },
    });
  }
}
