import { canonicalJson, toJsonValue } from '../../core/json.ts';
import { hash } from 'node:crypto';
import { isRecord } from '../../protocol/parts/part-json.ts';
import { join, resolve } from 'node:path';
import { ReinsError } from '../../core/errors.ts';
import type { HarnessV1, SandboxSession } from './harness-v1.ts';

/** What an adapter needs to find in its sandbox: written and run once for each recipe (P-075). */
export async function applyBootstrap(
  adapter: HarnessV1,
  sandbox: SandboxSession,
  abortSignal: AbortSignal,
): Promise<void> {
  const recipe = await adapter.getBootstrap?.({ abortSignal });
  if (recipe === undefined) return;
  if (!isRecord(recipe) || typeof recipe['bootstrapDir'] !== 'string') throw new ReinsError('A harness has no recipe.');
  const { bootstrapDir, files, commands } = recipe;
  const mark = join(bootstrapDir, `.reins-${hash('sha256', canonicalJson(toJsonValue(recipe))).slice(0, 16)}`);
  if ((await sandbox.readTextFile({ path: mark })) !== null) return;
  for (const { path, content } of entriesOf(files))
    await sandbox.writeTextFile({ path: resolve(bootstrapDir, String(path)), content: String(content), abortSignal });
  for (const { command } of entriesOf(commands)) {
    const { exitCode } = await sandbox.run({ command: String(command), workingDirectory: bootstrapDir, abortSignal });
    if (exitCode !== 0) throw new ReinsError(`A command of a harness’s recipe ended with ${exitCode}.`);
  }
  await sandbox.writeTextFile({ path: mark, content: '' });
}

function entriesOf(list: unknown): readonly Readonly<Record<string, unknown>>[] {
  return Array.isArray(list) ? list.filter((entry) => isRecord(entry)) : [];
}
