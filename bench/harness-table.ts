// What each harness can do and what it costs, as the table of docs/harnesses.md: `npm run bench:harnesses`. Real programs, a
// model on loopback, nothing of it over a network. Those that are not installed are left out and named.

import { openHarnessServer, whyNot } from '../test/support/harness-server.ts';
import { readFileSync, writeFileSync } from 'node:fs';
import type { HarnessName } from '../src/testing/harness-programs.ts';
import type { HarnessUnderTest } from '../src/testing/harness-contract.ts';

const bases: readonly { readonly base: HarnessName | 'native'; readonly model: string }[] = [
  { base: 'native', model: 'openai/test-model' },
  { base: 'claude-code', model: 'anthropic/test-model' },
  { base: 'codex', model: 'openai/test-model' },
  { base: 'pi', model: 'anthropic/test-model' },
  { base: 'gemini-cli', model: 'google/test-model' },
  { base: 'opencode', model: 'openai-compatible/test-model' },
];
const shown = [
  'approvals',
  'questions',
  'steer',
  'resume',
  'disabledTools',
  'usage',
  'servedModel',
  'mcp',
  'sandbox',
] as const;
const page = new URL('../docs/harnesses.md', import.meta.url);
const [from, to] = ['<!-- table -->', '<!-- end of table -->'];

const rows: string[] = [];
for (const { base, model } of bases) {
  const reason = base === 'native' ? undefined : whyNot(base);
  if (reason === undefined) rows.push(await measure(base, model));
  else console.error(`${base} is left out: ${reason}`);
}
const head = ['base', 'version', 'first text, cold', 'warm', 'memory, idle', ...shown];
const table = [head, head.map(() => '---')].map(rowOf).concat(rows).join('\n');
console.log(table);
const text = readFileSync(page, 'utf8');
const [before = '', rest = ''] = text.split(from);
const after = rest.split(to)[1] ?? '';
if (process.argv.includes('--write')) writeFileSync(page, `${before}${from}\n\n${table}\n\n${to}${after}`);

async function measure(base: HarnessName | 'native', model: string): Promise<string> {
  await using under = await openHarnessServer({ base, model });
  const cold = await firstText(under, undefined);
  const warm = await firstText(under, cold.id);
  const processes = base === 'native' ? [] : await under.processes(cold.session);
  const bytes = processes.reduce((sum, { pid }) => sum + residentBytes(pid), 0);
  const words = shown.map((name) => {
    const value = under.capabilities[name];
    return typeof value === 'string' ? value : (value?.join(', ') ?? '');
  });
  const memory = base === 'native' ? 'of the server' : `${Math.round(bytes / 2 ** 20)} MiB`;
  return rowOf([`\`${base}\``, versionOf(base), `${cold.ms} ms`, `${warm.ms} ms`, memory, ...words]);
}

async function firstText(
  under: HarnessUnderTest,
  previous: string | undefined,
): Promise<{ readonly ms: number; readonly id: string; readonly session: string }> {
  const startedAt = performance.now();
  const task = under.client().run({
    input: '[[text]]',
    model: under.modelName,
    metadata: { harness_id: under.harnessId },
    ...(previous === undefined ? {} : { previous_response_id: previous }),
  });
  let ms = 0;
  for await (const event of task)
    if (ms === 0 && event.type === 'response.output_text.delta') ms = Math.round(performance.now() - startedAt);
  const { response, sessionId } = await task.result();
  return { ms, id: response.id, session: sessionId };
}

/** Of the lock files, which is what was run. */
function versionOf(base: string): string {
  const packages: Readonly<Record<string, readonly [string, string]>> = {
    'claude-code': ['fast', '@anthropic-ai/claude-agent-sdk'],
    codex: ['fast', '@openai/codex'],
    pi: ['fast', '@earendil-works/pi-coding-agent'],
    'gemini-cli': ['nightly', '@google/gemini-cli'],
    opencode: ['nightly', 'opencode-ai'],
  };
  const [set, name] = packages[base] ?? [];
  if (set === undefined) return 'of Reins';
  const file = new URL(`../harnesses/versions/${set}/node_modules/${name}/package.json`, import.meta.url);
  const { version, claudeCodeVersion } = JSON.parse(readFileSync(file, 'utf8'));
  return String(claudeCodeVersion ?? version);
}

function residentBytes(pid: number): number {
  const kib = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? '0';
  return Number(kib) * 1024;
}

function rowOf(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`;
}
