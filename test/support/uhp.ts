import { isTerminal, readFrames, type Body, type SeenFrame } from './event-stream.ts';

export const key = 'test-key-of-the-owner';

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Body;
  /** Of a refused request. */
  readonly code: string | undefined;
  readonly param: string | null | undefined;
}

export interface Attachment {
  readonly status: number;
  readonly headers: Headers;
  readonly frames: AsyncGenerator<SeenFrame>;
  /** Drops the connection. */
  leave(): void;
}

type Headers_ = Readonly<Record<string, string>>;

/** The smallest client of the protocol: requests as they are, answers as they come. */
export interface Uhp {
  readonly url: string;
  send(
    method: string,
    path: string,
    options?: { readonly body?: unknown; readonly headers?: Headers_ },
  ): Promise<Answer>;
  create(body: object, headers?: Headers_): Promise<Answer>;
  get(id: string): Promise<Answer>;
  cancel(id: string): Promise<Answer>;
  /** Posts with `stream: true`. */
  stream(body: object, headers?: Headers_): Promise<Attachment>;
  /** `GET ?stream=true`, after a cursor or from the start. */
  attach(id: string, options?: { readonly after?: number; readonly by?: 'query' | 'header' }): Promise<Attachment>;
}

export function connectTo(url: string, token = key): Uhp {
  const request = (
    method: string,
    path: string,
    { body, headers, signal }: { body?: unknown; headers?: Headers_; signal?: AbortSignal },
  ) =>
    fetch(url + path, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined
        ? {}
        : { body: typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body) }),
      ...(signal === undefined ? {} : { signal }),
    });
  const send: Uhp['send'] = async (method, path, options = {}) => {
    const response = await request(method, path, options);
    const text = await response.text();
    const body = (text === '' ? {} : JSON.parse(text)) as Body & { error?: { code?: string; param?: string | null } };
    return {
      status: response.status,
      headers: response.headers,
      body,
      code: body.error?.code,
      param: body.error?.param,
    };
  };
  const open = async (
    method: string,
    path: string,
    options: { body?: unknown; headers?: Headers_ },
  ): Promise<Attachment> => {
    const client = new AbortController();
    const response = await request(method, path, { ...options, signal: client.signal });
    const { status, headers } = response;
    if (status !== 204 && headers.get('content-type')?.startsWith('text/event-stream') !== true)
      throw new Error(`No stream, but ${status}: ${await response.text()}`);
    return {
      status,
      headers,
      frames: readFrames(response.body ?? new ReadableStream({ start: (c) => c.close() })),
      leave: () => client.abort(),
    };
  };
  return {
    url,
    send,
    create: (body, headers = {}) => send('POST', '/v1/responses', { body, headers }),
    get: (id) => send('GET', `/v1/responses/${id}`),
    cancel: (id) => send('POST', `/v1/responses/${id}/cancel`),
    stream: (body, headers = {}) => open('POST', '/v1/responses', { body: { ...body, stream: true }, headers }),
    attach(id, { after, by = 'query' } = {}) {
      const query = after === undefined || by === 'header' ? '' : `&starting_after=${after}`;
      const headers: Headers_ = after === undefined || by === 'query' ? {} : { 'last-event-id': String(after) };
      return open('GET', `/v1/responses/${id}?stream=true${query}`, { headers });
    },
  };
}

/** All frames to the end of the stream. */
export async function whole(attachment: Promise<Attachment>): Promise<readonly SeenFrame[]> {
  return Array.fromAsync((await attachment).frames);
}

/** Frames until one fits, that one included; then the connection is dropped. */
export async function until(
  attachment: Attachment,
  fits: (frame: SeenFrame) => boolean,
): Promise<readonly SeenFrame[]> {
  const seen: SeenFrame[] = [];
  for await (const frame of attachment.frames) {
    seen.push(frame);
    if (fits(frame)) break;
  }
  attachment.leave();
  return seen;
}

/** The response that the terminal event carries. */
export function finalOf(frames: readonly SeenFrame[]): Body {
  const last = frames.at(-1);
  if (last === undefined || !isTerminal(last) || last.event.response === undefined)
    throw new Error(`The stream has no terminal event; its last is ${last?.text}`);
  return last.event.response;
}

/** Asks again until the task has ended. */
export async function ended(uhp: Uhp, id: string): Promise<Body> {
  // The stream ends with the task; the task is read afterwards, as a client would (U-321).
  await whole(uhp.attach(id));
  return (await uhp.get(id)).body;
}
