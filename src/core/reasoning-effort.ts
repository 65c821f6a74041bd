const efforts = ['provider-default', 'none', 'low', 'medium', 'high'] as const;

/** How much a model is asked to think; absent: nothing is said of it. */
export type ReasoningEffort = (typeof efforts)[number];

/** Undefined: it is none of them, and counts as unset. */
export function parseEffort(given: string): ReasoningEffort | undefined {
  return efforts.find((effort) => effort === given.trim().toLowerCase());
}

/** The effort where none is set: only models whose name says that they think are asked to. */
export function effortByName(model: string): ReasoningEffort | undefined {
  const name = model.toLowerCase();
  if (name.includes('non-reasoning') || name.includes('nonreasoning')) return undefined;
  return name.includes('reasoning') || name.includes('thinking') ? 'provider-default' : undefined;
}
