import type { Capabilities, Discovery } from '../protocol/uhp/discovery.ts';
import type { Patience } from './retrying.ts';
import type { Transport } from './transport.ts';

/** What each verb of a client works with. */
export interface ClientParts extends Patience {
  readonly transport: Transport;
  /** The longest silence of a stream (U-446). */
  readonly inactivityMs: number;
  /** Asked for once. */
  discovery(): Promise<ServerFacts>;
}

/** A capability that is not there is false (U-440). */
export type ServerFacts = Omit<Discovery, 'capabilities' | 'versions' | 'default_version'> & {
  readonly versions: readonly string[];
  readonly default_version: string;
  readonly capabilities: Capabilities & Readonly<Record<string, boolean>>;
};
