// The log of a server process: pino behind the `Logger` contract. One line an entry: JSON for machines, text for a terminal.
//
// L1. No secret of the list is in a line, whoever repeats it: in a message, in facts at any depth, in the words of a cause.
// L2. An entry is one line, on a terminal of visible text alone: nobody whose words are logged can write a line of his own
//     or steer the terminal.

import { inspect } from 'node:util';
import { pino } from 'pino';
import type { JsonObject, JsonValue } from './core/json.ts';
import type { Logger, LogLevel } from './core/logger.ts';
import { createRedactor, redactFacts } from './core/redact.ts';

export interface LoggerOptions {
  /** Default: `info`. */
  readonly level?: LogLevel;
  readonly secrets?: readonly string[];
  /** Default: stderr. Lines are text where it is a terminal, else JSON. */
  readonly out?: { readonly isTTY?: boolean; write(line: string): unknown };
}

export function createLogger({ level = 'info', secrets = [], out = process.stderr }: LoggerOptions = {}): Logger {
  const redact = createRedactor(secrets);
  const write = (line: string) => void out.write(out.isTTY === true ? readableLine(line) : line);
  const entries = pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    { write },
  );
  return {
    info: (message, facts = {}) => entries.info(redactFacts(facts, redact), redact(message)),
    warn: (message, facts = {}) => entries.warn(redactFacts(facts, redact), redact(message)),
    error: (message, facts = {}, cause) =>
      entries.error(redactFacts({ ...facts, ...describeCause(cause) }, redact), redact(message)),
  };
}

/** The chain of causes by their stacks. Other properties stay out: provider clients put whole prompts into theirs. */
function describeCause(cause: unknown): JsonObject {
  if (cause === undefined) return {};
  const chain: string[] = [];
  let current: unknown = cause;
  for (let depth = 0; depth < 6 && current !== undefined; depth++) {
    chain.push(current instanceof Error ? (current.stack ?? current.message) : inspect(current, { depth: 2 }));
    current = current instanceof Error ? current.cause : undefined;
  }
  return { cause: chain.join('\ncaused by: ') };
}

/** `12:34:56Z warn  A model call failed. runId=resp_1 status=401 cause="Error: …"`, without the frames of a stack. */
function readableLine(line: string): string {
  const { time, level, msg, cause, ...facts }: JsonObject = JSON.parse(line);
  const words = Object.entries(facts).map(([name, value]) => `${name}=${wordOf(value)}`);
  if (cause !== undefined) words.push(`cause=${wordOf(withoutFrames(textOf(cause)))}`);
  const at = `${textOf(time).slice(11, 19)}Z`;
  return `${[at, textOf(level).padEnd(5), textOf(msg), ...words].join(' ').replace(/\p{Cc}+/gu, ' ')}\n`;
}

const textOf = (value: JsonValue | undefined): string => (typeof value === 'string' ? value : JSON.stringify(value));
const withoutFrames = (stack: string): string => stack.replace(/\n +at .*/g, '').replaceAll('\n', ', ');

/** Text that could be mistaken for more than one word is quoted. */
function wordOf(value: JsonValue): string {
  return typeof value === 'string' && /^[\w.:/@+-]+$/.test(value) ? value : JSON.stringify(value);
}
