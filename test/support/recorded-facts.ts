import { beginTurn, reduce as reduceClaude } from '../../src/harnesses/claude-code/reduce.ts';
import { createCodexState } from '../../src/harnesses/codex/replies.ts';
import { geminiDialect } from '../../src/harnesses/acp/gemini-cli.ts';
import { opencodeDialect } from '../../src/harnesses/acp/opencode.ts';
import { readFileSync } from 'node:fs';
import { reduce as reduceAcp } from '../../src/harnesses/acp/reduce.ts';
import { reduce as reducePi } from '../../src/harnesses/pi/reduce.ts';
import { reduceCodex, type CodexNative } from '../../src/harnesses/codex/reduce.ts';
import { root } from '../reins-process.ts';
import { turnBegun as acpTurn, type AcpNative } from '../../src/harnesses/acp/acp-state.ts';
import { turnBegun as piTurn, type PiNative } from '../../src/harnesses/pi/pi-state.ts';
import type { NativeFact } from '../../src/harnesses/foreign/native-fact.ts';
import type { NativeMessage } from '../../src/harnesses/claude-code/native-message.ts';

/** What a real program said of a turn, as its adapter reads it. @param name  Of the recording: `pi-1.6.0-tool`. */
export function recordedFacts(name: string): readonly NativeFact[] {
  switch (name.slice(0, name.indexOf('-'))) {
    case 'pi':
      return fold(
        linesOf('pi', name).map((line): PiNative => ({ from: 'pi', event: JSON.parse(line) })),
        piTurn,
        reducePi,
      );
    case 'claude':
      return fold(
        linesOf('claude-code', name).map((line): NativeMessage => JSON.parse(line)),
        beginTurn(),
        reduceClaude,
      );
    case 'codex':
      return fold(
        linesOf('codex', name).map((line): CodexNative => JSON.parse(line)),
        createCodexState('thread-1', '/workspace'),
        reduceCodex,
      );
    case 'gemini':
    case 'opencode':
      return fold(
        linesOf('acp', name).map((line): AcpNative => JSON.parse(line)),
        acpTurn,
        (state, native) => reduceAcp(state, native, name.startsWith('gemini') ? geminiDialect : opencodeDialect),
      );
    default:
      throw new Error(`No harness is recorded as ${name}.`);
  }
}

function fold<S, N>(
  natives: readonly N[],
  begun: S,
  reduce: (state: S, native: N) => readonly [S, readonly NativeFact[]],
): readonly NativeFact[] {
  let state = begun;
  return natives.flatMap((native) => {
    const [next, facts] = reduce(state, native);
    state = next;
    return facts;
  });
}

function linesOf(folder: string, name: string): readonly string[] {
  return readFileSync(`${root}src/harnesses/${folder}/recorded/${name}.jsonl`, 'utf8').trimEnd().split('\n');
}
