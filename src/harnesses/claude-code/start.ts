// From a program's path to a session that takes prompts.

import { argumentsOf, environmentOf, initializeRequest, placePlugin } from './launch.ts';
import { ClaudeCodeSession } from './control.ts';
import { createControlPeer } from './control-peer.ts';
import { glob } from 'node:fs/promises';
import { launch, resumeMs, resumeOrBegin, shakeHands, wholeStartMs } from '../foreign/start-step.ts';
import { uuidOf } from './uuid-of.ts';
import { wordOf } from '../foreign/fields.ts';
import type { Environment } from '../../process/child-environment.ts';
import type { NativeSession, OpenNative } from '../foreign/runtime.ts';

export interface StartParts {
  /** Absolute path. */
  readonly program: string;
  readonly host: Environment;
}

const label = 'Claude Code';

/** @throws RuntimeFault */
export async function startClaudeCode(parts: StartParts, options: OpenNative): Promise<NativeSession> {
  const { resume, home } = options;
  const isKept = resume !== null && (await hasTranscript(home, resume.nativeId));
  return resumeOrBegin(label, isKept ? options : { ...options, resume: null }, (each) => startOnce(parts, each));
}

/** Where the program keeps what was said. */
async function hasTranscript(home: string, id: string): Promise<boolean> {
  if (!/^[\w-]+$/.test(id)) return false;
  for await (const _ of glob(`projects/*/${id}.jsonl`, { cwd: home })) return true;
  return false;
}

async function startOnce({ program, host }: StartParts, options: OpenNative): Promise<NativeSession> {
  const { resume, random } = options;
  const nativeId = resume?.nativeId ?? uuidOf(random);
  const plugin = await placePlugin(options);
  const open: { session?: ClaudeCodeSession } = {};
  const peer = createControlPeer({
    send: (value) => process.send(value),
    onMessage: (message) => open.session?.receive(message),
  });
  const process = await launch(options, {
    label,
    program,
    args: argumentsOf(options, { id: nativeId, resume: resume !== null }),
    env: environmentOf(host, options),
    onValue: (value) => peer.receive(value),
  });
  void process.gone.then(({ how }) => peer.close(`${label} ${how}.`));
  return shakeHands({ label, process, options, causeIn }, async (within) => {
    const asked = peer.request(initializeRequest(options, plugin));
    const version = wordOf((await within(resume === null ? wholeStartMs : resumeMs, asked))['claude_code_version']);
    await options.remember({ nativeId, version });
    return (open.session = new ClaudeCodeSession({ process, peer, options, version, resumed: resume !== null }));
  });
}

function causeIn(said: string): string {
  const found = causes.find(([words]) => words.test(said));
  return found === undefined ? '' : `: ${found[1]}`;
}

const causes = [
  [/root\/sudo/, 'it does not run as root in this mode'],
  [/No conversation found/, 'it does not know the session any more'],
  [/is already in use/, 'its session is in use by another process'],
  [/unknown option/, 'this version does not know an option that it needs'],
] as const;
