export interface ShownArguments {
  /** A text stands as it is, all else as JSON. */
  readonly entries: readonly (readonly [string, string])[];
  /** Null: they name none. */
  readonly cwd: string | null;
}

export function argumentsOf(json: string): ShownArguments {
  const value = parsed(json);
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return { entries: [['arguments', json]], cwd: null };
  const entries = Object.entries(value);
  const cwd: unknown = entries.find(([name]) => name === 'cwd')?.[1];
  return {
    entries: entries.map(([name, each]) => [name, typeof each === 'string' ? each : JSON.stringify(each, null, 2)]),
    cwd: typeof cwd === 'string' ? cwd : null,
  };
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return null;
  }
}
