// A model on loopback for whole harnesses: it speaks the four protocols that they know at one address, and does what a marker
// in the prompt says (`scripts.ts`). The model servers beside it are told their replies one by one; a harness asks as often
// as it likes, so here the conversation itself says what is next.
//
// M1. The script is the last marker's, the step the number of tool results since; there is no other state but how often a
//     marker was seen, without which nothing could fail once and then work (H-800).
// M2. Every request is recorded before it is answered, also one that is no request of any wire (H-802).
// M3. Each event is a write of its own; the next waits until the connection has taken it.

import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import { buffer } from 'node:stream/consumers';
import { sleep, type Clock } from '../../core/clock.ts';
import { isJsonObject, parsedOrText, type JsonValue } from '../../core/json.ts';
import { beatsBeforeFault } from '../model-servers/reply-script.ts';
import { chatWire } from './chat-wire.ts';
import { chooseTool } from './choose-tool.ts';
import { findScript } from './find-script.ts';
import { geminiWire } from './gemini-wire.ts';
import { messagesWire } from './messages-wire.ts';
import { replyUsage, type HarnessWire, type ModelReply } from './harness-wire.ts';
import { responsesWire } from './responses-wire.ts';
import { scripts, type ScriptAnswer } from './scripts.ts';
import type { Conversation } from './conversation.ts';

type Say = Extract<ScriptAnswer, { kind: 'say' }>;

/** One request as it came, and what became of it. */
export interface HarnessModelRequest {
  /** By the server's clock. */
  readonly at: number;
  readonly method: string;
  /** With its query. */
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** Null: none. Text where it is no JSON. */
  readonly body: JsonValue;
  readonly model: string | null;
  readonly stream: boolean;
  /** Null: it asked for no reply of the model, or was not understood. */
  readonly script: string | null;
  /** Names of the tools that it offers. */
  readonly tools: readonly string[];
  /** Tool results since the marker: their number is the step of the script. */
  readonly results: readonly string[];
  /** Names of the tools that the reply calls. */
  readonly calls: readonly string[];
  /** The client left before its answer was complete. */
  readonly closedEarly: boolean;
  /** When the answer was complete or the connection gone; null while it is open. */
  readonly endedAt: number | null;
}
type Entry = { -readonly [Field in keyof HarnessModelRequest]: HarnessModelRequest[Field] };

export interface HarnessModel extends AsyncDisposable {
  /** Without a path: `/v1/messages`, `/v1/responses`, `/v1/chat/completions`, `/v1beta/models/…` are below it. */
  readonly url: string;
  readonly requests: readonly HarnessModelRequest[];
  close(): Promise<void>;
}

export async function startHarnessModel(options: {
  readonly clock: Clock;
  /** Absent: a free one. */
  readonly port?: number;
}): Promise<HarnessModel> {
  const { clock, port = 0 } = options;
  const requests: Entry[] = [];
  const attempts = new Map<string, number>();
  const closing = new AbortController();
  const answer = async (message: IncomingMessage, response: ServerResponse) => {
    const entry = await readEntry(message, clock.now());
    requests.push(entry);
    const gone = new AbortController();
    let brokenOff = false;
    const breakOff = () => {
      brokenOff = true;
      response.destroy();
    };
    response.once('close', () => {
      entry.endedAt = clock.now();
      entry.closedEarly = !response.writableFinished && !closing.signal.aborted && !brokenOff;
      gone.abort();
    });
    await writeAnswer(response, entry, { attempts, breakOff, clock, id: String(requests.length), gone: gone.signal });
  };
  const server = createServer((message, response) => {
    answer(message, response).catch(() => response.destroy());
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const close = async () => {
    closing.abort();
    server.closeAllConnections();
    await new Promise<void>((resolve) => server.close(() => resolve()));
  };
  return {
    url: `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : port}`,
    requests,
    close,
    [Symbol.asyncDispose]: close,
  };
}

async function readEntry(message: IncomingMessage, at: number): Promise<Entry> {
  const { method = 'GET', url: path = '/', headers } = message;
  const text = (await buffer(message)).toString();
  const body = text === '' ? null : parsedOrText(text);
  const { model, stream } = isJsonObject(body) ? body : {};
  return {
    at,
    method,
    path,
    headers,
    body,
    // Gemini names both in the path, the others in the body.
    model: typeof model === 'string' ? model : (/models\/([^:/?]+):/.exec(path)?.[1] ?? null),
    stream: stream === true || path.includes(':streamGenerateContent'),
    script: null,
    tools: [],
    results: [],
    calls: [],
    closedEarly: false,
    endedAt: null,
  };
}

const wires: readonly (readonly [RegExp, HarnessWire])[] = [
  [/\/messages$/, messagesWire],
  [/\/responses$/, responsesWire],
  [/\/chat\/completions$/, chatWire],
  [/:(streamGenerateContent|generateContent)$/, geminiWire],
];

interface AnswerContext {
  readonly attempts: Map<string, number>;
  /** Destroys the connection, as a provider that fails. */
  readonly breakOff: () => void;
  readonly clock: Clock;
  readonly id: string;
  readonly gone: AbortSignal;
}

async function writeAnswer(response: ServerResponse, entry: Entry, context: AnswerContext): Promise<void> {
  const { pathname } = new URL(entry.path, 'http://localhost');
  if (entry.method === 'HEAD') return writeJson(response, 200, {});
  if (entry.method === 'GET' && /\/models(\/|$)/.test(pathname)) return writeJson(response, 200, modelList);
  if (/count_?tokens$/i.test(pathname)) {
    return writeJson(response, 200, { input_tokens: replyUsage.input, totalTokens: replyUsage.input });
  }
  const wire = wires.find(([path]) => path.test(pathname))?.[1];
  if (wire === undefined) return writeJson(response, 404, messagesWire.errorBody(404, 'There is no such path.'));
  const conversation = readConversation(wire, entry.body);
  if (conversation === null) return writeJson(response, 400, wire.errorBody(400, 'This is no request.'));
  const answer = nextAnswer(conversation, entry, context.attempts);
  switch (answer.kind) {
    case 'nothing':
      return;
    case 'refuse':
      return writeJson(
        response,
        answer.status,
        wire.errorBody(answer.status, 'Refused by the script.'),
        answer.headers,
      );
    case 'body':
      response.writeHead(200, { 'content-type': answer.contentType }).end(answer.body);
      return;
    case 'say': {
      const reply = replyOf(answer, conversation, { id: context.id, model: entry.model ?? 'test-model' });
      entry.calls = reply.calls.map(({ tool }) => tool.name);
      if (!entry.stream && answer.fault === undefined) return writeJson(response, 200, wire.whole(reply));
      return await writeStream(response, { wire, reply, answer }, context);
    }
  }
}

const modelList = {
  object: 'list',
  data: [{ id: 'test-model', object: 'model', type: 'model', display_name: 'Test model' }],
  models: [{ name: 'models/test-model' }],
  has_more: false,
};

function writeJson(response: ServerResponse, status: number, body: object, headers: object = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
}

function readConversation(wire: HarnessWire, body: JsonValue): Conversation | null {
  try {
    return wire.read(body);
  } catch {
    return null;
  }
}

function nextAnswer(conversation: Conversation, entry: Entry, attempts: Map<string, number>): ScriptAnswer {
  const { name, argument, earlier, results } = findScript(conversation.turns);
  const { tools } = conversation;
  // A request for a title has the marker too, but no tools: it must not use up what fails once.
  const key = JSON.stringify([name, argument, tools.length > 0]);
  const attempt = (attempts.get(key) ?? 0) + 1;
  attempts.set(key, attempt);
  Object.assign(entry, { script: name, tools: tools.map((tool) => tool.name), results });
  const answer = scripts[name]?.({ step: results.length, attempt, argument, earlier, results });
  if (answer === undefined) return { kind: 'refuse', status: 500 };
  return answer.kind === 'say' && answer.wishes !== undefined && tools.length === 0
    ? { kind: 'say', text: 'A title' }
    : answer;
}

function replyOf(answer: Say, conversation: Conversation, asked: { id: string; model: string }): ModelReply {
  const { thinking = '', text = '', wishes = [], servedModel = asked.model, cutByLength } = answer;
  const chosen = wishes.flatMap((wish) => chooseTool(wish, conversation) ?? []);
  const said = chosen.length < wishes.length ? `${wordsOf(text).join('')} (No such tool is offered.)` : text;
  const finish = chosen.length > 0 ? 'tool-calls' : 'stop';
  return {
    id: asked.id,
    model: servedModel,
    thinking: wordsOf(thinking),
    text: wordsOf(said),
    calls: chosen.map((call, index) => ({ ...call, id: `${asked.id}_${index}` })),
    finish: cutByLength ? 'length' : finish,
  };
}

const wordsOf = (text: string | readonly string[]): readonly string[] =>
  typeof text === 'string' ? (text.match(/\S+\s*/g) ?? []) : text;

interface Streamed {
  readonly wire: HarnessWire;
  readonly reply: ModelReply;
  readonly answer: Say;
}

async function writeStream(
  response: ServerResponse,
  { wire, reply, answer: { fault, pauseMs } }: Streamed,
  { breakOff, clock, gone }: AnswerContext,
): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
  response.flushHeaders();
  for (const beat of beatsBeforeFault(wire.beats(reply), fault)) {
    if (beat.kind === 'pause') continue;
    if (gone.aborted) return;
    await new Promise<void>((resolve) => response.write(beat.item, () => resolve()));
    if (pauseMs !== undefined && beat.kind === 'delta') await sleep(clock, pauseMs, gone);
  }
  if (fault?.kind === 'stall') return;
  if (fault?.kind === 'cut') breakOff();
  else response.end();
}
