import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseHarnessWrite } from './harness-write.ts';
import { RequestError } from '../../core/errors.ts';

const refusal = (param: string, code = 'invalid_input') => expect.objectContaining({ code, param });

describe('names', () => {
  test('UD-33: snake case and camel case say the same; both are refused only where they differ', () => {
    const both = { max_step: 3, maxStep: 3, reins_model_fallback: true };
    expect(parseHarnessWrite(both)).toMatchObject({ maxStep: 3, modelFallback: true });
    expect(parseHarnessWrite({ systemPrompt: 'x' })).toEqual(parseHarnessWrite({ system_prompt: 'x' }));
    expect(() => parseHarnessWrite({ max_step: 3, maxStep: 4 })).toThrow(refusal('max_step'));
  });

  test('UD-32, Q-07: what only the server writes is dropped, in either case', () => {
    const read = {
      id: 'chrn_1',
      object: 'harness',
      baseLabel: 'x',
      createdAt: 1,
      created_at: 2,
      reinsCapabilities: {},
    };
    expect(parseHarnessWrite({ ...read, name: 'n' })).toEqual(parseHarnessWrite({ name: 'n' }));
  });

  test('B110: a setting that is not known is refused where it is configured', () => {
    expect(() => parseHarnessWrite({ reinsTurbo: true })).toThrow(refusal('reinsTurbo'));
    expect(() => parseHarnessWrite({ constructor: 1 })).toThrow(refusal('constructor'));
  });

  test('UD-32: absent and null are told apart', () => {
    expect(parseHarnessWrite({ name: null })).toMatchObject({ name: null, base: undefined });
  });
});

test.each<[object, string]>([
  [{ name: '' }, 'name'],
  [{ base: 7 }, 'base'],
  [{ max_step: 0 }, 'max_step'],
  [{ timeout_seconds: '5' }, 'timeout_seconds'],
  [{ disabled_tools: ['x', 1] }, 'disabled_tools[1]'],
  [{ mcp_servers: {} }, 'mcp_servers'],
  [{ mcp_servers: [{ name: 'a' }] }, 'mcp_servers[0].url'],
  [{ mcp_servers: [{ name: 'a', url: 'https://x', transport: 'stdio' }] }, 'mcp_servers[0].transport'],
  [{ mcp_servers: [{ name: 'a', url: 'https://x', headers: { k: 1 } }] }, 'mcp_servers[0].headers.k'],
  [{ skills: [{ name: '../up' }] }, 'skills[0].name'],
  [{ skills: [{ name: '..' }] }, 'skills[0].name'],
  [{ skills: [{ name: 's', files: [{ content: 'x' }] }] }, 'skills[0].files[0].path'],
  [{ plugins: [{ files: 'x' }] }, 'plugins[0].files'],
  [{ reins_permission_mode: 'none' }, 'reins_permission_mode'],
  [{ reins_tool_permissions: { bash: 'maybe' } }, 'reins_tool_permissions.bash'],
])('UD-45: %j is refused at %s', (body, param) => {
  expect(() => parseHarnessWrite(body)).toThrow(refusal(param));
});

test('UE-40: an environment that is named is not there; none is named by an empty text', () => {
  expect(() => parseHarnessWrite({ environment: 'henv_1' })).toThrow(refusal('environment', 'invalid_input'));
  expect(() => parseHarnessWrite({ environment: '' })).not.toThrow();
});

test('UT-23: whatever is sent, it is parsed, or refused as a request', () => {
  const key = fc.constantFrom(
    'name',
    'base',
    'mcp_servers',
    'mcpServers',
    'skills',
    'plugins',
    'reins_tool_permissions',
  );
  fc.assert(
    fc.property(fc.dictionary(fc.oneof(key, fc.string()), fc.jsonValue()), (body) => {
      try {
        parseHarnessWrite(body);
      } catch (error) {
        expect(error).toBeInstanceOf(RequestError);
      }
    }),
  );
});
