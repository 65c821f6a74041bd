/** E8: of optional keys Go leaves out what is empty or false. */
export function withoutEmpty(part: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const optional =
    /^(providerExecuted|dynamic|isError|preliminary|title|nativeName|modelId|warnings|harnessMetadata|providerMetadata)$/;
  const isEmpty = (value: unknown) => ['false', '""', '[]', '{}'].includes(JSON.stringify(value));
  const without = (value: unknown, keys: RegExp): unknown =>
    Object.fromEntries(Object.entries({ ...Object(value) }).filter(([key, each]) => !keys.test(key) || !isEmpty(each)));
  const inner: Readonly<Record<string, (value: unknown) => unknown>> = {
    finishReason: (value) => without(value, /^raw$/),
    usage: (value) => without(value, /^raw$/),
    totalUsage: (value) => without(value, /^raw$/),
    warnings: (value) => (Array.isArray(value) ? value.map((each) => without(each, /^details$/)) : value),
  };
  return Object.fromEntries(
    Object.entries(part)
      .filter(([key, value]) => !optional.test(key) || !isEmpty(value))
      .map(([key, value]) => [key, inner[key]?.(value) ?? value]),
  );
}
