import type { PermissionLevel } from '../tool.ts';
import type { HostRules } from '../../net/public-host.ts';
import type { ReplayPolicy } from '../../core/run-event.ts';

interface CommonSettings {
  readonly name: string;
  /** A disabled server is never contacted (U-111). */
  readonly disabled?: boolean;
  /** Of all its tools; default `ask` (E-521). */
  readonly permission?: PermissionLevel;
  /** Of all its tools; default `manual` (E-521). */
  readonly replay?: ReplayPolicy;
  /** Of one call; absent: the engine's default. */
  readonly timeoutSeconds?: number;
  /** The only tools to offer, by the server's own names; absent: all. */
  readonly tools?: readonly string[];
}

export interface StdioServer extends CommonSettings {
  readonly transport: 'stdio';
  readonly command: string;
  readonly args?: readonly string[];
  /** Added to a small base (`PATH`, `HOME` and the like); nothing else of our environment is passed on. */
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
}

export interface RemoteServer extends CommonSettings {
  /** `http` is Streamable HTTP, `sse` its predecessor. */
  readonly transport: 'http' | 'sse';
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Where it, and what it redirects to, may lie. Absent: anywhere, as whoever runs this program has named it. */
  readonly reach?: HostRules;
}

export type McpServer = StdioServer | RemoteServer;
