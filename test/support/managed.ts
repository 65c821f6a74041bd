import { connectTo, key, type Answer } from './uhp.ts';

/** A harness as a client reads it. */
export interface SeenHarness {
  readonly id: string;
  readonly name: string;
  readonly base: string;
  readonly mcpServers: readonly {
    readonly name: string;
    readonly enabled: boolean;
    readonly headers: Readonly<Record<string, string>>;
    readonly auth?: string;
  }[];
  readonly skills: readonly { readonly name: string; readonly enabled: boolean; readonly blob?: string }[];
  readonly plugins: readonly SeenPlugin[];
  readonly [field: string]: unknown;
}

export interface SeenPlugin {
  readonly name: string;
  readonly enabled: boolean;
  readonly blob?: string;
  readonly files?: readonly SeenFile[];
  readonly manifest: object;
  readonly mcpServers: readonly { readonly name: string; readonly [field: string]: unknown }[];
  readonly skills: readonly object[];
  readonly skipped: readonly { readonly path: string; readonly reason: string }[];
}

export interface SeenFile {
  readonly path: string;
  readonly content?: string;
  readonly content_b64?: string;
}

export interface Refusal {
  readonly status: number;
  readonly code: string | undefined;
  readonly param: string | null | undefined;
  readonly detail: unknown;
}

/** What a client does to harnesses. What is not 200 throws, but for what is asked to be refused. */
export interface Managed {
  create(body?: object): Promise<SeenHarness>;
  put(id: string, body: object): Promise<SeenHarness>;
  read(id: string): Promise<SeenHarness>;
  list(): Promise<readonly SeenHarness[]>;
  remove(id: string): Promise<Answer>;
  files(id: string, kind: 'skills' | 'plugins', name: string): Promise<readonly SeenFile[]>;
  exported(id: string): Promise<SeenPlugin & { readonly files: readonly SeenFile[] }>;
  refused(method: string, path: string, body?: object): Promise<Refusal>;
}

export function manage(url: string, token = key): Managed {
  const uhp = connectTo(url, token);
  const get = async <T>(method: string, path: string, body?: object): Promise<T> => {
    const answer = await uhp.send(method, path, body === undefined ? {} : { body });
    if (answer.status !== 200) throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body as unknown as T;
  };
  return {
    create: (body = {}) => get('POST', '/v1/harnesses', { base: 'native', ...body }),
    put: (id, body) => get('PUT', `/v1/harnesses/${id}`, body),
    read: (id) => get('GET', `/v1/harnesses/${id}`),
    list: async () => (await get<{ harnesses: readonly SeenHarness[] }>('GET', '/v1/harnesses')).harnesses,
    remove: (id) => uhp.send('DELETE', `/v1/harnesses/${id}`),
    files: async (id, kind, name) =>
      (
        await get<{ files: readonly SeenFile[] }>(
          'GET',
          `/v1/harnesses/${id}/${kind}/${encodeURIComponent(name)}/files`,
        )
      ).files,
    exported: (id) => get('GET', `/v1/harnesses/${id}/plugin`),
    async refused(method, path, body) {
      const { status, code, param, body: said } = await uhp.send(method, path, body === undefined ? {} : { body });
      return { status, code, param, detail: (said.error as { detail?: unknown } | null)?.detail };
    },
  };
}
