import type { StreamPart } from './stream-part.ts';

export interface ToolOrigins {
  /** To be told of every part, before it is translated. */
  watch(part: StreamPart): void;
  /** Of a call that was not seen it is believed that the runtime ran it. */
  readonly isProviderExecuted: (toolCallId: string) => boolean;
}

/** Results of the host's tools come back as parts, too: only the call says who ran it (P-047). */
export function createToolOrigins(): ToolOrigins {
  const hosted = new Set<string>();
  return {
    watch(part) {
      if (part.type !== 'tool-call') return;
      if (part.providerExecuted === true) hosted.delete(part.toolCallId);
      else hosted.add(part.toolCallId);
    },
    isProviderExecuted: (toolCallId) => !hosted.has(toolCallId),
  };
}
