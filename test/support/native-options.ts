import { mkdirSync, mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { sessionIds } from '../../src/core/ids.ts';
import { silentLogger } from '../../src/core/logger.ts';
import { systemClock, systemRandom } from '../../src/system.ts';
import type { NativeState, OpenNative } from '../../src/harnesses/foreign/runtime.ts';

export interface NativeOptions {
  readonly options: OpenNative;
  /** What it has left to be resumed from. */
  readonly states: NativeState[];
}

/**
 * What a session of a runtime is opened with that is tried over its contract alone, in folders of its own.
 * @param root  A folder that the test removes.
 */
export function nativeOptions(root: string, more: Partial<OpenNative> = {}): NativeOptions {
  const folder = mkdtempSync(join(root, 'place-'));
  const make = (name: string) => {
    const path = join(folder, name);
    mkdirSync(path, { mode: 0o700 });
    return path;
  };
  const states: NativeState[] = [];
  const options: OpenNative = {
    lease: { url: 'http://127.0.0.1:1', token: 'lease-token', provider: 'openai', onFact() {} },
    sessionId: sessionIds.make('a'),
    workspace: make('workspace'),
    home: make('home'),
    temporary: make('temporary'),
    marker: systemRandom.token(),
    model: 'test-model',
    config: { base: 'native', systemPrompt: null, instructions: null, disabledTools: [] },
    mcpServers: [],
    skillFolders: [],
    resume: null,
    async remember(state) {
      states.push(state);
    },
    signal: new AbortController().signal,
    clock: systemClock,
    random: systemRandom,
    logger: silentLogger,
    ...more,
  };
  return { options, states };
}
