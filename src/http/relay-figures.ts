import { Counter, type Registry } from 'prom-client';
import type { Usage } from '../core/usage.ts';

/** A model call of another's agent that is over (H-203). */
export interface RelayFigures {
  readonly provider: string;
  readonly how: string;
  /** Null: not known. */
  readonly usage: Usage | null;
  readonly dollars: number | null;
}

/** Counts these calls by provider. */
export function countRelay(registers: Registry[]): (call: RelayFigures) => void {
  const requests = new Counter({
    name: 'reins_relay_requests_total',
    help: 'Model calls of other agents, by provider and how they ended.',
    labelNames: ['provider', 'how'],
    registers,
  });
  const tokens = new Counter({
    name: 'reins_relay_tokens_total',
    help: 'Tokens of these calls; cached input counts as input.',
    labelNames: ['provider', 'kind'],
    registers,
  });
  const cost = new Counter({
    name: 'reins_relay_cost_dollars_total',
    help: 'What these calls cost by the list of prices; 3 and 15 dollars a million tokens where a model is not on it.',
    labelNames: ['provider'],
    registers,
  });
  return ({ provider, how, usage, dollars }) => {
    requests.inc({ provider, how });
    tokens.inc({ provider, kind: 'input' }, usage?.inputTokens ?? 0);
    tokens.inc({ provider, kind: 'output' }, usage?.outputTokens ?? 0);
    cost.inc({ provider }, dollars ?? 0);
  };
}
