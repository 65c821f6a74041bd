import { describe, expect, test } from 'vitest';
import { directModel } from './direct-model.ts';

const programs = {
  slug: 'gpt-9',
  tool_mode: 'code_mode_only',
  use_responses_lite: true,
  supports_search_tool: true,
  experimental_supported_tools: ['clock'],
  context_window: 1_000,
  base_instructions: 'Be kind.\n- Batch searches in one functions.exec.\nBe brief.',
  model_messages: { instructions_template: 'Filter `ALL_TOOLS` by name.\nStay.', hints: ['Use `clock.sleep`.', 'Go.'] },
};
const models = [{ slug: 'gpt-8' }, { ...programs, slug: 'gpt-9-mini', context_window: 10 }, programs];
const printed = `WARNING: {it warns}\n${JSON.stringify({ models })}\nWARNING: again\n`;

describe('H-022: a model that would write programs calls each tool itself', () => {
  test('its entry says so, offers no tool that nobody answers, and stays as it is otherwise', () => {
    expect(directModel(printed, 'gpt-9')).toEqual({
      ...programs,
      tool_mode: 'direct',
      use_responses_lite: false,
      supports_search_tool: false,
      experimental_supported_tools: [],
      base_instructions: 'Be kind.\nBe brief.',
      model_messages: { instructions_template: 'Stay.', hints: ['', 'Go.'] },
    });
  });

  test.each([
    ['gpt-9-mini-2030-01-01', 10],
    ['gpt-9-2030-01-01', 1_000],
    ['somebody/gpt-9', 1_000],
  ])('%s has the entry that Codex takes for it', (name, context_window) => {
    expect(directModel(printed, name)).toMatchObject({ tool_mode: 'direct', context_window });
  });

  test.each([
    ['one that calls them itself', printed, 'gpt-8'],
    ['one that Codex does not know', printed, 'test-model'],
    ['a program that tells no models', 'error: unrecognized subcommand\n', 'gpt-9'],
    ['a program that tells something else', '{"models":{"gpt-9":true}}', 'gpt-9'],
  ])('%s needs no entry', (_, text, name) => {
    expect(directModel(text, name)).toBeNull();
  });
});
