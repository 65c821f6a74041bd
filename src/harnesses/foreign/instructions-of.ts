import type { RunConfig } from '../../core/run-config.ts';

/**
 * What an agent shall be told beside its own prompt; null: nothing.
 * @param banned  Tools that it can only be asked not to use (H-080).
 */
export function instructionsOf(
  { systemPrompt, instructions }: Pick<RunConfig, 'systemPrompt' | 'instructions'>,
  banned: readonly string[] = [],
): string | null {
  const ban = banned.length === 0 ? null : `You must not use these tools: ${banned.join(', ')}.`;
  const texts = [systemPrompt, instructions, ban].filter((each) => each !== null && each !== '');
  return texts.length === 0 ? null : texts.join('\n\n');
}
