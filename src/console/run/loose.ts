// Reading what this browser or another tab has kept, of which nothing is certain.

/** Empty where the text is no JSON object. */
export function parsedObject(text: string | null): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text ?? '');
    return typeof value === 'object' && value !== null ? { ...value } : {};
  } catch {
    return {};
  }
}

export function textIn(value: unknown, name: string): string | null {
  if (typeof value !== 'object' || value === null) return null;
  const text: unknown = Object.entries(value).find(([each]) => each === name)?.[1];
  return typeof text === 'string' ? text : null;
}
