import type { Capabilities } from '../harness.ts';

/** What every foreign runtime is capable of at the least. */
export const leastCapabilities: Capabilities = {
  text: 'whole',
  thinking: 'none',
  toolInput: 'whole',
  approvals: 'none',
  questions: 'no',
  steer: 'none',
  cancel: 'kill',
  resume: 'none',
  disabledTools: 'instruction',
  maxStep: 'none',
  usage: 'none',
  denial: 'ends-turn',
  tree: 'best-effort',
  fork: 'no',
  compact: 'no',
  hostTools: 'no',
  mcp: [],
  skills: 'none',
  servedModel: 'relay',
  resets: 'hidden',
  sandbox: 'none',
};
