import { pluginSchemas } from '../../core/plugin-schema.ts';
import { defaultVersion, versions, type Version } from './versions.ts';

export type ConformanceClass = 'core' | 'extended' | 'full';

/** Nothing is served until it is named: a capability that is not implemented is stated false, not left out (U-032). */
const nothing = {
  streaming: false,
  sessions: false,
  cancellation: false,
  files_input: false,
  files_output: false,
  session_listing: false,
  harness_management: false,
  session_sharing: false,
  idempotency: false,
  plugins: false,
  environments: false,
  memories: false,
  reins_events: false,
  reins_approvals: false,
  reins_steering: false,
  reins_queue: false,
};
export type Capabilities = Readonly<typeof nothing>;

export type Discovery = {
  readonly object: 'uhp.discovery';
  readonly protocol: 'uhp';
  readonly versions: readonly Version[];
  readonly default_version: Version;
  readonly conformance_class: ConformanceClass;
  readonly capabilities: Capabilities;
  /** Present exactly where plugins can be installed (UP-01). */
  readonly plugin_schemas?: readonly string[];
  readonly implementation: { readonly name: string; readonly version: string };
};

/** The class is computed from what is served, so that the two always agree (U-033, UD-30). */
export function toDiscovery(served: Partial<Capabilities>, implementation: Discovery['implementation']): Discovery {
  const capabilities = { ...nothing, ...served };
  return {
    object: 'uhp.discovery',
    protocol: 'uhp',
    versions,
    default_version: defaultVersion,
    conformance_class: classOf(capabilities),
    capabilities,
    ...(capabilities.plugins ? { plugin_schemas: pluginSchemas } : {}),
    implementation,
  };
}

function classOf(can: Capabilities): ConformanceClass {
  if (!can.files_input || !can.files_output || !can.session_listing) return 'core';
  return can.harness_management && can.session_sharing ? 'full' : 'extended';
}
