import { parseArgs, type ParseArgsConfig } from 'node:util';
import { ReinsError } from '../core/errors.ts';
import type { ExitCode } from './exit-code.ts';
import type { Output } from './output.ts';

export interface Terminal {
  /** The answer: what another program reads. */
  readonly out: Output;
  /** Everything said about it. */
  readonly err: Output;
}

export interface Verb {
  /** Shown by `reins VERB --help`. */
  readonly usage: string;
  run(args: readonly string[], terminal: Terminal): Promise<ExitCode>;
}

/** The command was written wrongly: exit code 2. */
export class UsageError extends ReinsError {}

/**
 * Options and words of one verb; of an option given twice the last counts.
 * @throws UsageError  An option that the verb does not have, a value missing or not wanted, or more words than `words`.
 */
export function parseVerbArgs<const O extends NonNullable<ParseArgsConfig['options']>>(
  args: readonly string[],
  { options, words }: { readonly options: O; readonly words: number },
) {
  const { values, positionals } = parseOrRefuse(() =>
    parseArgs({ args: [...args], options, allowPositionals: true, strict: true }),
  );
  const extra = positionals[words];
  if (extra !== undefined)
    throw new UsageError(`'${extra}' is one word too many; a text of several words needs quotes.`);
  return { values, words: positionals };
}

function parseOrRefuse<T>(parse: () => T): T {
  try {
    return parse();
  } catch (cause) {
    if (cause instanceof TypeError && 'code' in cause) throw new UsageError(inOneSentence(cause.message), { cause });
    throw cause;
  }
}

/** Node's own words go on with advice about positional arguments, which no verb of Reins takes in such a place. */
function inOneSentence(message: string): string {
  const dash = /^Option '([^']+)' argument is ambiguous/.exec(message)?.[1];
  if (dash !== undefined) return `${dash} needs a value; one that begins with a dash is written ${dash}=-….`;
  const unknown = /^Unknown option '([^']+)'/.exec(message)?.[1];
  return unknown === undefined ? message : `there is no option '${unknown}' here.`;
}
