import { RequestError } from '../core/errors.ts';
import { pluginSchemas } from '../core/plugin-schema.ts';

/** 422 `plugin_invalid`: no package that can be installed; nothing was (UP-13). */
export class PluginInvalidError extends RequestError {
  /** @param path  The file at fault. @param reason  One sentence. */
  constructor({ path, reason }: { readonly path: string; readonly reason: string }, param?: string) {
    super({
      status: 422,
      errorType: 'invalid_request_error',
      code: 'plugin_invalid',
      message: `This is no valid plugin package: ${reason}`,
      ...(param === undefined ? {} : { param }),
      detail: { path, reason },
    });
  }
}

/** 422 `unsupported_plugin_schema`: a manifest of a format that is not known here (UP-21). */
export class UnsupportedPluginSchemaError extends RequestError {
  constructor(param?: string) {
    super({
      status: 422,
      errorType: 'invalid_request_error',
      code: 'unsupported_plugin_schema',
      message: 'The manifest is of a format that this server does not know; detail.supported lists those it does.',
      ...(param === undefined ? {} : { param }),
      detail: { supported: pluginSchemas },
    });
  }
}
