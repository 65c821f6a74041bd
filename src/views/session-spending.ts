// What the tasks of a session have used, from their stored responses: of each, and of all together.

import { isJsonObject, type JsonObject, type JsonValue } from '../core/json.ts';
import type { UhpResponse, UhpUsage } from '../protocol/uhp/response.ts';
import type { UhpSpent } from '../protocol/uhp/session.ts';

const figures = ['input_tokens', 'output_tokens', 'total_tokens', 'cache_read_tokens', 'cache_write_tokens'] as const;

export function spentBy({ usage, metadata }: UhpResponse | JsonObject): UhpSpent {
  const used = isJsonObject(usage) ? usageFrom((figure) => numberIn(usage, figure)) : null;
  const cost = isJsonObject(metadata) ? metadata['reins_cost'] : null;
  const dollars = isJsonObject(cost) ? numberIn(cost, 'dollars') : null;
  return {
    ...(used === null ? {} : { reins_usage: used }),
    ...(dollars === null || !isJsonObject(cost)
      ? {}
      : { reins_cost: { dollars, estimated: cost['estimated'] !== false } }),
  };
}

/** Of what is known. A task that used something at an unknown price makes the cost a part of what it was. */
export function spentByAll(tasks: readonly UhpSpent[]): UhpSpent {
  const usages = tasks.flatMap(({ reins_usage }) => reins_usage ?? []);
  const costs = tasks.flatMap(({ reins_cost }) => reins_cost ?? []);
  const used = usageFrom((figure) => sum(usages.flatMap((usage) => usage[figure] ?? [])));
  const dollars = sum(costs.map((cost) => cost.dollars));
  const isPartial = costs.length < usages.length || tasks.some((task) => task.reins_cost_partial === true);
  const estimated = isPartial || costs.some((cost) => cost.estimated);
  return {
    ...(used === null ? {} : { reins_usage: used }),
    ...(dollars === null ? {} : { reins_cost: { dollars, estimated } }),
    ...(dollars === null || !isPartial ? {} : { reins_cost_partial: true as const }),
  };
}

function usageFrom(figureOf: (figure: keyof UhpUsage) => number | null): UhpUsage | null {
  const known = figures.flatMap((figure) => {
    const value = figureOf(figure);
    return value === null ? [] : [[figure, value] as const];
  });
  return known.length === 0 ? null : Object.fromEntries(known);
}

function numberIn(object: { readonly [key: string]: JsonValue | undefined }, key: string): number | null {
  const value = object[key];
  return typeof value === 'number' ? value : null;
}

function sum(values: readonly number[]): number | null {
  return values.length === 0 ? null : values.reduce((all, value) => all + value, 0);
}
