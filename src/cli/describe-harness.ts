import type { DoctorReport } from '../inspect.ts';

/** A harness in words, a line each. */
export function describeHarness(
  { base, label, status }: DoctorReport['harnesses'][number],
  { capabilities }: { readonly capabilities: boolean },
): readonly string[] {
  const state = status.installed
    ? `installed${status.version === null ? '' : ` (${status.version})`}`
    : 'not installed';
  const width = Math.max(0, ...status.models.map(({ id }) => id.length));
  const abilities = capabilities ? Object.entries(status.capabilities) : [];
  return [
    `${label} [${base}]: ${state}`,
    ...(status.problem === null ? [] : [`  ! ${status.problem.message}`]),
    ...abilities.map(
      ([name, value]) => `  ${name.padEnd(13)}  ${typeof value === 'string' ? value : value.join(', ') || 'none'}`,
    ),
    ...status.models.map(({ id, available, why }) => {
      const isDefault = id === status.defaultModel ? ' (default)' : '';
      return `  ${available ? '+' : '-'} ${id.padEnd(width)}  ${why}${isDefault}`;
    }),
  ];
}
