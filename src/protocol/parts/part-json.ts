/** JSON as parts type it: a member may be undefined, and is then left out. */
export type PartJson = null | string | number | boolean | Readonly<PartJsonObject> | readonly PartJson[];
export type PartJsonObject = { [key: string]: PartJson | undefined };

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
