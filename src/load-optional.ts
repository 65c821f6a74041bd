import { ConfigurationError } from './core/errors.ts';

/**
 * A part that needs packages which not everybody has.
 * @param what  What cannot be had without them, as the beginning of a sentence.
 * @throws ConfigurationError  They are not installed.
 */
export async function loadOptional<T>(
  load: () => Promise<T>,
  { what, packages }: { readonly what: string; readonly packages: readonly string[] },
): Promise<T> {
  try {
    return await load();
  } catch (cause) {
    if (!(cause instanceof Error && 'code' in cause && cause.code === 'ERR_MODULE_NOT_FOUND')) throw cause;
    throw new ConfigurationError(`${what} needs what is not installed: npm install ${packages.join(' ')}.`, { cause });
  }
}
