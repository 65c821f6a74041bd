import type { JsonObject } from './json.ts';

/** Where the operator reads what the caller must not see. Facts never hold a credential (U-420). */
export interface Logger {
  info(message: string, facts?: JsonObject): void;
  warn(message: string, facts?: JsonObject): void;
  error(message: string, facts?: JsonObject, cause?: unknown): void;
}

export const silentLogger: Logger = { info() {}, warn() {}, error() {} };

/** The least serious entries that are written; `silent`: none. */
export const logLevels = ['info', 'warn', 'error', 'silent'] as const;
export type LogLevel = (typeof logLevels)[number];
