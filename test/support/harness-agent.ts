// The AI SDK's `HarnessAgent` over an agent of ours, on this machine.

import { createScriptedModel } from '../../src/testing/scripted-model.ts';
import { HarnessAgent, type HarnessAgentSettings } from '@ai-sdk/harness/agent';
import { onTestFinished } from 'vitest';
import { sandboxIn } from './local-sandbox.ts';
import { temporaryFolder } from '../reins-process.ts';
import {
  toHarnessV1,
  type AgentConfig,
  type AgentParts,
  type ReinsHarnessV1,
  type ToHarnessV1Options,
} from '../../src/index.ts';
import type { ScriptedReply } from '../../src/testing/model-servers/reply-script.ts';

/** Of the package’s own copy of `ai`. */
type Tools = ReinsHarnessV1['builtinTools'] & NonNullable<HarnessAgentSettings['tools']>;
type Settings = HarnessAgentSettings<ReinsHarnessV1, Tools>;
export interface Hosted {
  readonly tools?: Readonly<Record<string, object>>;
  readonly instructions?: string;
  readonly inactiveTools?: string[];
  readonly skills?: { name: string; description: string; content: string }[];
  readonly permissionMode?: NonNullable<Settings['permissionMode']>;
  readonly config?: AgentConfig;
  readonly parts?: AgentParts;
  readonly options?: ToHarnessV1Options;
}

/** With a model that says these replies, one a request. */
export function hostAgent(
  replies: readonly ScriptedReply[],
  { config, parts, options, tools = {}, ...settings }: Hosted = {},
) {
  const model = createScriptedModel(replies);
  const folder = temporaryFolder();
  const harness = toHarnessV1(
    { config: config ?? {}, parts: { provider: model, ...parts } },
    { driver: { kind: 'memory' }, ...options },
  );
  onTestFinished(() => harness[Symbol.asyncDispose]());
  const agent = new HarnessAgent<ReinsHarnessV1, Tools>({ harness, ...settings, tools: tools as Tools });
  const sandboxSession = sandboxIn(folder);
  return { agent, harness, model, folder, sandboxSession, session: () => agent.createSession({ sandboxSession }) };
}
