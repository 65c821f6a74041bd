import { describe, expect, test } from 'vitest';
import { refuseConflicts, type Composition } from './plugin-conflicts.ts';

const empty: Composition = { mcpServers: [], skills: [], plugins: [] };
const on = (name: string) => ({ name, enabled: true });
const off = (name: string) => ({ name, enabled: false });
const plugin = (name: string, parts: Partial<Composition['plugins'][number]> = {}) => ({
  ...on(name),
  mcpServers: [],
  skills: [],
  ...parts,
});
const conflict = (component: string, name: string, between: readonly string[]) =>
  expect.objectContaining({ status: 409, code: 'plugin_conflict', detail: { component, name, between } });

describe.each(['mcpServers', 'skills'] as const)('%s', (list) => {
  const component = list === 'skills' ? 'skill' : 'mcp_server';

  test('UD-38: a name twice in the direct list is refused, also where both are disabled', () => {
    const twice = { ...empty, [list]: [off('x'), off('x')] };
    expect(() => refuseConflicts(twice)).toThrow(conflict(component, 'x', ['harness', 'harness']));
  });

  test('UP-38: a plugin and the harness, or two plugins, differ as long as both are enabled', () => {
    const a = plugin('a', { [list]: [{ name: 'x' }] });
    const b = plugin('b', { [list]: [{ name: 'x' }] });
    expect(() => refuseConflicts({ ...empty, [list]: [on('x')], plugins: [a] })).toThrow(
      conflict(component, 'x', ['harness', 'a']),
    );
    expect(() => refuseConflicts({ ...empty, plugins: [a, b] })).toThrow(conflict(component, 'x', ['a', 'b']));
    expect(() => refuseConflicts({ ...empty, [list]: [off('x')], plugins: [a] })).not.toThrow();
    expect(() => refuseConflicts({ ...empty, [list]: [on('x')], plugins: [{ ...a, enabled: false }] })).not.toThrow();
    expect(() => refuseConflicts({ ...empty, plugins: [a, { ...b, enabled: false }] })).not.toThrow();
  });
});

test('UD-39: servers are told apart by what an agent calls them, skills by their names', () => {
  const long = 'n'.repeat(64);
  expect(() => refuseConflicts({ ...empty, mcpServers: [on('a b'), on('a_b')] })).toThrow(/same name/);
  expect(() => refuseConflicts({ ...empty, mcpServers: [on(`${long}1`), on(`${long}2`)] })).toThrow(/same name/);
  expect(() => refuseConflicts({ ...empty, skills: [on('a b'), on('a_b')] })).not.toThrow();
});

test('UP-39: two plugins of one name are refused, also where they are disabled', () => {
  const twice = [plugin('a'), plugin('a', { enabled: false })];
  expect(() => refuseConflicts({ ...empty, plugins: twice })).toThrow(conflict('plugin', 'a', ['a', 'a']));
});
