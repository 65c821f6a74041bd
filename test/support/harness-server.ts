// A real server process with one foreign harness and a model on loopback, for the contract of harnesses.

import { clockServer } from './clock-server.ts';
import { placeHostile } from './hostile-workspace.ts';
import { connect } from '../../src/client/index.ts';
import { findHarnessProgram, type HarnessName } from '../../src/testing/harness-programs.ts';
import { listMembers, rootOf } from '../../src/process/process-tree.ts';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { spawn, type ChildProcess } from 'node:child_process';
import { startHarnessModel } from '../../src/testing/harness-model/start-harness-model.ts';
import { systemClock } from '../../src/system.ts';
import { tmpdir } from 'node:os';
import type { HarnessUnderTest } from '../../src/testing/harness-contract.ts';

const root = join(import.meta.dirname, '..', '..');
const key = 'server-key-of-the-contract';
const providerKey = 'provider-key-of-the-contract';
const secret = 'unrelated-secret-of-the-machine';

export interface HarnessServerOptions {
  readonly base: HarnessName | 'native';
  /** A name that the server takes, such as `openai/test-model`. */
  readonly model: string;
  readonly settings?: object;
}

/** Why the harness cannot be tried here; undefined: it can. @throws RequiredHarnessError */
export function whyNot(base: HarnessName): string | undefined {
  const found = findHarnessProgram(base, process.env);
  return found.kind === 'absent' ? found.reason : undefined;
}

export async function openHarnessServer({
  base,
  model: modelName,
  settings = {},
}: HarnessServerOptions): Promise<HarnessUnderTest> {
  const data = mkdtempSync(join(tmpdir(), `reins-${base}-`));
  const model = await startHarnessModel({ clock: systemClock });
  // A machine of tests may be busy for longer than a runtime is waited for otherwise.
  const silence = { firstSeconds: 60 };
  const harnesses = base === 'native' ? {} : { preferred: base, programs: { [base]: programOf(base) }, silence };
  const template = join(data, 'template');
  const owned = join(data, 'owned');
  mkdirSync(owned);
  placeHostile(template, owned);
  const agent = { templates: [template], mcp: [clockServer(data, 'It is process ')] };
  writeFileSync(join(data, 'config.json'), JSON.stringify({ harnesses, agent, ...settings }));
  const start = () => startServer(data, model.url);
  let server = await start();
  const client = () => connect(server.url, key);
  const harnessIdOf = async () => (await client().harnesses.list()).find((each) => each.base === base)?.id ?? '';
  const harnessId = await harnessIdOf();
  const { reinsCapabilities: capabilities } = await client().harnesses.get(harnessId);
  if (capabilities === undefined) throw new Error(`The server has no harness ${base}.`);
  const membersOf = async (sessionId: string) => {
    if (base === 'native') {
      const own = rootOf(server.child.pid ?? 0, 'work');
      return (await listMembers({ marker: 'of nobody', root: own })).filter(
        // Servers of the settings are no task's.
        ({ pid, name }) => pid !== own.pid && name !== 'MainThread',
      );
    }
    const folder = join(data, 'homes', sessionId);
    const notes = namesIn(folder).filter((name) => name.endsWith('.json'));
    const markers = notes.map((name) => String(JSON.parse(readFileSync(join(folder, name), 'utf8')).marker));
    return (await Promise.all(markers.map((marker) => listMembers({ marker, root: null })))).flat();
  };
  return {
    harnessId,
    capabilities,
    clock: systemClock,
    client,
    model,
    modelName,
    canaries: [key, providerKey, secret],
    async restart() {
      server.child.kill('SIGKILL');
      await server.gone;
      server = await start();
    },
    mcpTool: 'tell',
    hostileTemplate: template,
    owned: () => readdirSync(owned),
    processes: membersOf,
    async commandLines(sessionId) {
      const pids = (await membersOf(sessionId)).map(({ pid }) => pid);
      return pids.map((pid) => readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')).join('\n');
    },
    async [Symbol.asyncDispose]() {
      server.child.kill('SIGTERM');
      await server.gone;
      await model.close();
      rmSync(data, { recursive: true, force: true });
    },
  };
}

function programOf(base: HarnessName): string {
  const found = findHarnessProgram(base, process.env);
  if (found.kind === 'absent') throw new Error(found.reason);
  return found.args[0] ?? found.command;
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

async function startServer(
  data: string,
  modelUrl: string,
): Promise<{ readonly url: string; readonly child: ChildProcess; readonly gone: Promise<unknown> }> {
  const child = spawn(process.execPath, [join(root, 'bin/reins.js'), 'serve', '--data', data, '--port', '0'], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
    // Its own group, so that what it starts can be told from what else there is.
    detached: true,
    env: {
      PATH: process.env['PATH'] ?? '',
      HOME: '/nonexistent',
      REINS_API_KEY: key,
      DATABASE_PASSWORD: secret,
      ANTHROPIC_API_KEY: providerKey,
      ANTHROPIC_BASE_URL: `${modelUrl}/v1`,
      OPENAI_API_KEY: providerKey,
      OPENAI_BASE_URL: `${modelUrl}/v1`,
      GOOGLE_GENERATIVE_AI_API_KEY: providerKey,
      GOOGLE_GENERATIVE_AI_BASE_URL: `${modelUrl}/v1beta`,
      OPENAI_COMPATIBLE_API_KEY: providerKey,
      OPENAI_COMPATIBLE_BASE_URL: `${modelUrl}/v1`,
    },
  });
  const gone = new Promise((resolve) => child.once('close', resolve));
  let said = '';
  const url = await new Promise<string>((resolve, reject) => {
    const read = (piece: string) => {
      said += piece;
      const found = /reins listening on (\S+)/.exec(said)?.[1];
      if (found !== undefined) resolve(found);
    };
    child.stdout.setEncoding('utf8').on('data', read);
    child.stderr.setEncoding('utf8').on('data', read);
    void gone.then(() => reject(new Error(`The server ended: ${said}`)));
  });
  return { url, child, gone };
}
