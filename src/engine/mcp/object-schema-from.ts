import { isJsonObject, type JsonObject, type JsonValue } from '../../core/json.ts';

const unions = ['anyOf', 'oneOf', 'allOf'];
/** A dialect or id at the top only makes a validator look for what it does not know. */
const left = new Set([...unions, '$schema', '$id']);

/**
 * The schema of an object, out of whatever a server sent: model providers refuse the whole request for any other, and for
 * a union at the top. A union becomes the properties of its variants, none of them required: the server checks for itself.
 */
export function objectSchemaFrom(schema: JsonValue): JsonObject {
  const given = isJsonObject(schema) ? schema : {};
  const variants = unions.flatMap((key) => (Array.isArray(given[key]) ? given[key].filter(isJsonObject) : []));
  const kept = Object.fromEntries(Object.entries(given).filter(([key]) => !left.has(key)));
  return { ...kept, type: 'object', properties: joinProperties([given, ...variants]) };
}

function joinProperties(schemas: readonly JsonObject[]): JsonObject {
  const joined = new Map<string, JsonValue[]>();
  for (const { properties = null } of schemas) {
    if (!isJsonObject(properties)) continue;
    for (const [name, property] of Object.entries(properties))
      joined.set(name, [...(joined.get(name) ?? []), property]);
  }
  return Object.fromEntries(
    [...joined].map(([name, given]) => [
      name,
      given.length === 1 && given[0] !== undefined ? given[0] : { anyOf: given },
    ]),
  );
}
