// A runtime as a process that speaks JSON, one value a line, over its standard streams (H-120 to H-124, H-130 to H-138).
//
// N1. Stdout is read to its end, whoever listens. A line that is no JSON is diagnostics, and so is a last line without its end.
// N2. Stderr and diagnostics are kept, their last 64 KiB, for the operator (H-136).
// N3. Who wants it gone ends its whole tree; the promise of `gone` is settled whatever happens, and says why.
// N4. A long line that is still coming is work, and whoever listens hears of it: none is silent that writes (H-110).
// N5. One that lives and can speak no more, or hears no more, is of no use: it is ended, and that is said of it (H-045).

import { createRedactor } from '../../core/redact.ts';
import { keepEnds } from '../../process/keep-ends.ts';
import { ProcessStartError, startProcess, type ProcessExit, type RunningProcess } from '../../process/start-process.ts';
import { OversizedLineError, readLines } from '../../process/read-lines.ts';
import { stopTree, type StoppedTree } from '../../process/stop-tree.ts';
import { toJsonValue, type JsonValue } from '../../core/json.ts';
import { RuntimeFault } from './runtime.ts';
import { within } from '../../core/within.ts';
import type { Clock } from '../../core/clock.ts';
import type { Environment } from '../../process/child-environment.ts';

export interface LineProcessOptions {
  readonly clock: Clock;
  /** For people, in error sentences. */
  readonly label: string;
  /** Absolute path. */
  readonly program: string;
  /** No prompt, no secret (H-131). */
  readonly args: readonly string[];
  readonly cwd: string;
  /** All that it sees; see `runtimeEnvironment`. */
  readonly env: Environment;
  readonly marker: string;
  /** What it has been given and its diagnostics must not repeat. */
  readonly secrets: readonly string[];
  /** Told each value that came, in order. Must not throw. */
  readonly onValue: (value: JsonValue) => void;
  /** Beyond it a line is no more kept, and the process is ended (H-121). */
  readonly maxLineUnits?: number;
}

export interface LineProcess {
  send(value: JsonValue): void;
  /** Told each time that more has come of a line beyond 64 KiB, which no heartbeat is. One listener; must not throw. */
  onLongLine(listener: () => void): void;
  /** No more is sent: most runtimes end at that. */
  endInput(): void;
  /** Resolves when the process is gone and its output has been read, with a sentence that is safe to show. */
  readonly gone: Promise<Gone>;
  /** The tail of what it said beside the protocol, for the operator. */
  diagnostics(): string;
  /** SIGTERM, then SIGKILL after five seconds, to the whole tree, until none is left (H-060). Idempotent. */
  stop(): Promise<StoppedTree>;
}

export interface Gone {
  /** As "exited with code 1". */
  readonly how: string;
  readonly type: 'HarnessError' | 'AdapterOverflowError';
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** The same as a sentence, with the tail of its diagnostics. */
  readonly toOperator: string;
}

const keptBytes = 65_536;
const longUnits = 65_536;
const graceMs = 5_000;
/** With what comes before them, less than a host waits for. */
const giveUpMs = 700;
/** From the end of a stream to that of the process. */
const farewellMs = 2_000;

/** @throws RuntimeFault  It cannot be started. */
export async function startLineProcess(options: LineProcessOptions): Promise<LineProcess> {
  const { clock, label, program, args, cwd, env, marker, secrets } = options;
  const child = await startProcess({ clock, program, args, cwd, env, marker, stdin: 'pipe' }).catch(
    (cause: unknown) => {
      throw startFault(label, cause);
    },
  );
  const tail = keepEnds(keptBytes);
  const redact = createRedactor(secrets);
  const diagnostics = () => redact(tail.text());
  const note = (text: string) => tail.add(Buffer.from(`${text}\n`));
  let stopping: Promise<StoppedTree> | null = null;
  const stop = () => {
    stopping ??= stopTree(child.tree, { clock, graceMs, giveUpMs })
      .finally(() => child[Symbol.dispose]())
      .catch((cause: unknown) => {
        stopping = null; // whoever asks again has another try
        throw cause;
      });
    return stopping;
  };
  const exited = child.exited.then(howItEnded);
  let useless: Pick<Gone, 'how' | 'type'> | null = null;
  const endUnlessGone = async (why: Pick<Gone, 'how' | 'type'>, ms: number) => {
    await within(child.exited, { clock, ms });
    // Only one that is still there has to be ended (N5).
    if ((await Promise.race([exited, Promise.resolve(null)])) !== null || stopping !== null) return;
    useless ??= why;
    await stop().catch((cause: unknown) => note(String(cause)));
  };
  let onLongLine: (() => void) | null = null;
  const onPart = (units: number) => void (units > longUnits && onLongLine?.());
  const values = readValues(child, options, { note, onPart }).then(
    () => void endUnlessGone(fault('closed its output'), farewellMs),
    (cause: unknown) => {
      note(String(cause));
      // It may well end by itself now that nobody reads: that is not why.
      useless = cause instanceof OversizedLineError ? tooLong : fault('could not be read');
      void endUnlessGone(useless, 0);
    },
  );
  const read = Promise.allSettled([values, readDiagnostics(child, tail)]);
  const gone = exited.then(async (exit): Promise<Gone> => {
    await read;
    const why = { ...exit, ...useless };
    return { ...why, toOperator: `${label} ${why.how}. ${diagnostics()}`.trimEnd() };
  });
  return {
    send(value) {
      if (child.stdin?.writable !== true) return;
      child.stdin.write(`${JSON.stringify(value)}\n`, (refused) => {
        if (refused) void endUnlessGone(fault('closed its input'), farewellMs);
      });
    },
    onLongLine: (listener) => void (onLongLine = listener),
    endInput: () => void child.stdin?.end(),
    gone,
    diagnostics,
    stop,
  };
}

async function readValues(
  child: RunningProcess,
  { onValue, maxLineUnits }: LineProcessOptions,
  { note, onPart }: { readonly note: (text: string) => void; readonly onPart: (units: number) => void },
): Promise<void> {
  for await (const { text, complete } of readLines(child.stdout, maxLineUnits, onPart)) {
    const value = complete ? parsed(text) : undefined;
    if (value === undefined) note(text);
    else onValue(value);
  }
}

function howItEnded(exit: ProcessExit): Omit<Gone, 'toOperator'> {
  return exit.how === 'exited'
    ? { ...fault(`exited with code ${exit.code}`), code: exit.code, signal: null }
    : { ...fault(`was ended by ${exit.signal}`), code: null, signal: exit.signal };
}

const fault = (how: string) => ({ how, type: 'HarnessError' }) as const;
const tooLong = { how: 'wrote a line that is too long', type: 'AdapterOverflowError' } as const;

async function readDiagnostics(child: RunningProcess, tail: ReturnType<typeof keepEnds>): Promise<void> {
  for await (const chunk of child.stderr) tail.add(chunk);
}

function parsed(line: string): JsonValue | undefined {
  try {
    return toJsonValue(JSON.parse(line));
  } catch {
    return undefined;
  }
}

function startFault(label: string, cause: unknown): RuntimeFault {
  const why = cause instanceof ProcessStartError ? cause.message : 'The system refused to start it.';
  const message = `${label} could not be started. ${why}`;
  return new RuntimeFault({ type: 'AgentUnavailableError', message, retryable: false }, { cause });
}

/** Names that would make a runtime believe that it runs inside another one, or that change how it runs (H-133). */
const foreignMarks =
  /^(CLAUDECODE|CLAUDE_|CODEX_|PI_|GEMINI_|OPENCODE|AI_AGENT$|AGENT$|GIT_CONFIG_|NODE_OPTIONS$|npm_|REINS_)/;

/**
 * The environment of a runtime: built, not inherited (H-132). `home` is its own; `own` is what its adapter sets.
 * @param host  Of it, only how programs, languages, certificates and proxies are found.
 */
export function runtimeEnvironment(
  host: Environment,
  { home, temporary, own }: { readonly home: string; readonly temporary: string; readonly own: Environment },
): Environment {
  const names =
    /^(PATH|LANG|LANGUAGE|TZ|LC_.*|SSL_CERT_FILE|SSL_CERT_DIR|NODE_EXTRA_CA_CERTS|(HTTP|HTTPS|ALL|NO)_PROXY)$/i;
  const kept = Object.entries(host).filter(([name]) => names.test(name) && !foreignMarks.test(name));
  const noProxy = [host['NO_PROXY'] ?? host['no_proxy'] ?? '', '127.0.0.1', 'localhost']
    .filter((each) => each !== '')
    .join(',');
  return {
    ...Object.fromEntries(kept),
    NO_PROXY: noProxy,
    no_proxy: noProxy,
    TERM: 'dumb',
    HOME: home,
    TMPDIR: temporary,
    ...own,
  };
}
