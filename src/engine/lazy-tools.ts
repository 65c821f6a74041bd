import type { Logger } from '../core/logger.ts';
import type { ToolListing, ToolSource } from './tool.ts';

/**
 * Tools that have to be opened before they can be listed, once, by the first who asks. Where that fails they are missing,
 * named in `degraded`, and the cause is logged.
 */
export function lazyTools(
  name: string,
  { open, logger }: { readonly open: () => Promise<Pick<ToolListing, 'tools' | 'guidance'>>; readonly logger: Logger },
): ToolSource {
  let listing: Promise<ToolListing> | null = null;
  return {
    list() {
      listing ??= open().then(
        (opened) => ({ ...opened, degraded: [] }),
        (cause: unknown) => {
          logger.error('Tools cannot be offered.', { source: name }, cause);
          return { tools: [], degraded: [name] };
        },
      );
      return listing;
    },
    async [Symbol.asyncDispose]() {},
  };
}
