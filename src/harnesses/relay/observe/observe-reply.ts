// Reads a reply beside the bytes that pass. It is handed each chunk after the chunk was sent on, keeps no more of it than an
// unfinished event, and says nothing to anybody: whoever passes the bytes looks at what was seen.

import { createParser } from 'eventsource-parser';
import { isJsonObject, parsedOrText } from '../../../core/json.ts';
import { readAnthropic } from './anthropic.ts';
import { readChat } from './chat.ts';
import { readGoogle } from './google.ts';
import { readResponses } from './responses.ts';
import type { ReadSighting, Sighting } from './sighting.ts';
import type { RelayError } from '../relay-fact.ts';
import type { Usage } from '../../../core/usage.ts';
import type { Wire } from '../routes.ts';

export interface Seen {
  readonly model: string | null;
  readonly usage: Usage | null;
  readonly finishReason: string | null;
  readonly error: RelayError | null;
  readonly calls: number;
  readonly ends: boolean;
}
export const nothingSeen: Seen = { model: null, usage: null, finishReason: null, error: null, calls: 0, ends: false };

export interface ReplyObserver {
  readonly seen: Seen;
  /** @returns whether the reply went on: pings and comments are no progress. */
  take(chunk: Uint8Array): boolean;
  /** The body is over; what stands in an unfinished line counts. */
  end(): void;
}

const readers: Readonly<Record<Wire, ReadSighting>> = {
  anthropic: readAnthropic,
  responses: readResponses,
  chat: readChat,
  google: readGoogle,
};
/** More than any event or document of a model has; what is longer passes unread. */
const longest = 64 * 1024 * 1024;

/** @param form  `events`: server-sent events. `document`: one JSON text. */
export function observeReply(wire: Wire, form: 'events' | 'document'): ReplyObserver {
  return form === 'events' ? observeEvents(readers[wire]) : observeDocument(readers[wire]);
}

function observeEvents(read: ReadSighting): ReplyObserver {
  let seen = nothingSeen;
  let isWork = false;
  let isBlind = false;
  const parser = createParser({
    maxBufferSize: longest,
    onEvent({ data }) {
      const message = parsedOrText(data);
      if (!isJsonObject(message)) return;
      const sighting = read(message);
      isWork ||= sighting.idle !== true;
      seen = addSighting(seen, sighting);
    },
    onError: ({ type }) => void (isBlind ||= type === 'max-buffer-size-exceeded'),
  });
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  const feed = (text: string) => {
    if (!isBlind) parser.feed(text);
  };
  return {
    get seen() {
      return seen;
    },
    take(chunk) {
      isWork = false;
      feed(decoder.decode(chunk, { stream: true }));
      return isWork;
    },
    end: () => feed(`${decoder.decode()}\n\n`),
  };
}

function observeDocument(read: ReadSighting): ReplyObserver {
  let seen = nothingSeen;
  let length = 0;
  const chunks: Uint8Array[] = [];
  return {
    get seen() {
      return seen;
    },
    take(chunk) {
      length += chunk.length;
      if (length <= longest) chunks.push(chunk);
      return true;
    },
    end() {
      if (length > longest) return;
      const value = parsedOrText(Buffer.concat(chunks).toString());
      // A stream of Gemini that is no event stream is a list of what would have been its events.
      const messages = (Array.isArray(value) ? value : [value]).filter((each) => isJsonObject(each));
      seen = messages.map(read).reduce(addSighting, seen);
    },
  };
}

/** What came later is truer; what it does not say stands. */
function addSighting(seen: Seen, sighting: Sighting): Seen {
  const { usage = null } = sighting;
  return {
    model: sighting.model ?? seen.model,
    usage: usage === null || seen.usage === null ? (usage ?? seen.usage) : mergeUsage(seen.usage, usage),
    finishReason: sighting.finishReason ?? seen.finishReason,
    error: sighting.error ?? seen.error,
    calls: seen.calls + (sighting.calls ?? 0),
    ends: seen.ends || sighting.ends === true,
  };
}

function mergeUsage(old: Usage, usage: Usage): Usage {
  return {
    inputTokens: usage.inputTokens ?? old.inputTokens,
    outputTokens: usage.outputTokens ?? old.outputTokens,
    cacheReadInputTokens: usage.cacheReadInputTokens ?? old.cacheReadInputTokens,
    cacheCreationInputTokens: usage.cacheCreationInputTokens ?? old.cacheCreationInputTokens,
    thinkingTokens: usage.thinkingTokens ?? old.thinkingTokens,
  };
}
