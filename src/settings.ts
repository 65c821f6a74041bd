// The settings by group: what may be set, what is right there, and what holds where nothing is.

import { logLevels } from './core/logger.ts';
import { parseS3Address } from './files/s3-address.ts';
import { providerNames } from './core/provider-names.ts';
import { z } from 'zod';

const text = z.string().min(1);
export const webAddress = z.url({ protocol: /^https?$/ });
const count = z.int().min(1);
const portRange = 'a port is a whole number from 0 to 65535';

export const catalogueEntry = z.strictObject({
  id: text,
  label: text.optional(),
  /** The name by which each provider serves it. */
  providers: z.partialRecord(z.enum(providerNames), text),
  contextTokens: count.optional(),
  maxOutputTokens: count.optional(),
});

const mcpServer = z.intersection(
  z.object({
    name: text,
    disabled: z.boolean().exactOptional(),
    permission: z.enum(['allow', 'ask', 'deny']).exactOptional(),
    replay: z.enum(['manual', 'safe', 'idempotent']).exactOptional(),
    timeoutSeconds: z.number().positive().exactOptional(),
    /** Only these of its tools. */
    tools: z.array(text).exactOptional(),
  }),
  z.discriminatedUnion('transport', [
    z.object({
      transport: z.literal('stdio'),
      command: text,
      args: z.array(z.string()).exactOptional(),
      env: z.record(z.string(), z.string()).exactOptional(),
      cwd: text.exactOptional(),
    }),
    z.object({
      transport: z.enum(['http', 'sse']),
      url: webAddress,
      headers: z.record(z.string(), z.string()).exactOptional(),
    }),
  ]),
);

/** Harnesses that are programs of others. */
const programBases = ['claude-code', 'codex', 'pi', 'gemini-cli', 'opencode'] as const;

/** Null = no limit (UR-53). */
const ofPrincipal = {
  tasksPerMinute: z.int().min(0).nullable(),
  runningTasks: z.int().min(0).nullable(),
  tokensPerDay: z.int().min(0).nullable(),
  dollarsPerDay: z.number().min(0).nullable(),
  uploadBytesPerDay: z.int().min(0).nullable(),
  /** Names of models that may be asked for. */
  models: z.array(text).nullable(),
};
export const limitsOfOne = z.strictObject({
  tasksPerMinute: ofPrincipal.tasksPerMinute.exactOptional(),
  runningTasks: ofPrincipal.runningTasks.exactOptional(),
  tokensPerDay: ofPrincipal.tokensPerDay.exactOptional(),
  dollarsPerDay: ofPrincipal.dollarsPerDay.exactOptional(),
  uploadBytesPerDay: ofPrincipal.uploadBytesPerDay.exactOptional(),
  models: ofPrincipal.models.exactOptional(),
});

export const groups = {
  server: z.strictObject({
    host: text.default('127.0.0.1'),
    /** 0: any free port. */
    port: z.int(portRange).min(0, portRange).max(65_535, portRange).default(4242),
    /** Base of the links in answers; null = the bind address. */
    publicUrl: webAddress
      .transform((url) => url.replace(/\/+$/, ''))
      .nullable()
      .default(null),
    /** PEM files; set: this server speaks TLS itself. */
    tls: z.strictObject({ certFile: text, keyFile: text }).nullable().default(null),
    dataDir: text.default('~/.reins'),
    /** Web pages of these may read answers in a browser. */
    allowedOrigins: z
      .array(webAddress.refine((url) => URL.parse(url)?.origin === url, 'an origin is as https://app.example'))
      .default([]),
    /** Where chats of the AI SDK are served. */
    chatPath: text
      .regex(/^(?:\/(?!v1\/)[a-zA-Z0-9_-]+)+$/, 'must be a path such as /api/chat, not below /v1')
      .default('/api/chat'),
    /** The least serious log entries that are written, to stderr. */
    logLevel: z.enum(logLevels).default('info'),
  }),
  models: z.strictObject({
    /** Providers that may serve, tried in this order; one that is not named is not used. */
    providers: z.array(z.enum(providerNames)).default([...providerNames]),
    default: text.nullable().default(null),
    /** Extends and overrides the catalogue that ships with Reins. */
    catalogue: z.array(catalogueEntry).default([]),
  }),
  agent: z.strictObject({
    /** Folder whose copy a new session starts with (UD-88). */
    template: text.nullable().default(null),
    /** Folders that harnesses may name as their own template. */
    templates: z.array(text).default([]),
    systemPrompt: text.nullable().default(null),
    /** Whether the agent keeps a task list where a harness does not say. */
    planning: z.boolean().default(true),
    shell: z
      .strictObject({
        /** `auto`: a sandbox where there is one, else an interpreted shell; the host's own only when it is named. */
        kind: z.enum(['auto', 'sandboxed', 'interpreted', 'host', 'off']).default('auto'),
        network: z.enum(['none', 'full']).default('full'),
      })
      .prefault({}),
    /** Hosts that `fetch_url` and MCP servers of harnesses may reach though they are not public; `*.suffix` names all below it. */
    fetchHosts: z.array(text).default([]),
    /** MCP servers whose tools the agent has; allowed by being named here unless they say otherwise (UR-02). */
    mcp: z.array(mcpServer).default([]),
    /** Folders that are skills, or hold some (E-904). */
    skills: z.array(text).default([]),
    /** Of `POST /api/agent`: holds a folder for each principal; null = one in the data folder. */
    workspace: text.nullable().default(null),
    /** Principals that have none; `*` names all. */
    workspaceOff: z.array(text).default([]),
    /** Directory of a turn that names none. One that cannot be is ignored with a warning, as is the effort below. */
    defaultCwd: z.string().nullable().default(null),
    /** How much models are asked to think; null = those whose name says that they do. */
    reasoning: z.string().nullable().default(null),
  }),
  harnesses: z.strictObject({
    preferred: text.default('native'),
    /** Absolute paths of programs, by base; absent: as found on the path. */
    programs: z.partialRecord(z.enum(programBases), text).default({}),
    /** Agents that speak the Agent Client Protocol, by the name that makes their base `acp-<name>`. */
    acp: z
      .record(
        z.string().regex(/^[a-z0-9]+(-[a-z0-9]+)*$/, 'a name is in kebab-case'),
        z.strictObject({
          command: text,
          args: z.array(z.string()).default([]),
          env: z.record(z.string(), z.string()).default({}),
          label: text.optional(),
          /** Provider whose models it calls (of Azure none is handed on), and the variables through which it is told where and with which key. */
          provider: z.enum(providerNames).exclude(['azure']),
          baseUrlVariable: text,
          keyVariable: text,
        }),
      )
      .default({}),
    /** How long the process of a session is kept between its turns, and while a person is waited for. */
    idleSeconds: count.default(300),
    parkSeconds: count.default(1_800),
    /** What one run may use through its lease, whatever limits it has itself; null = no bound (H-200). */
    leaseBudget: z
      .strictObject({
        dollars: z.number().positive().nullable().default(null),
        tokens: count.nullable().default(null),
        requests: count.nullable().default(null),
      })
      .prefault({}),
    /** How many such processes there are at most while nothing is asked of them. */
    maxIdle: z.int().min(0).default(8),
    /** How many there are at all, and of them for runs that wait for a person while others want room; null = by the machine. */
    maxProcesses: count.nullable().default(null),
    maxParked: z.int().min(0).nullable().default(null),
    /** Tasks that may wait for one to be free, and for how long. */
    maxWaiting: z.int().min(0).default(200),
    waitSeconds: count.default(600),
    /** What one of them may use, with all that it starts; null = half of the machine's memory. */
    memoryBytes: count.nullable().default(null),
    processesEach: count.default(512),
    /** In its private folders; a single file may not be larger either, wherever it lies. */
    diskBytes: count.default(10 * 1024 * 1024 * 1024),
    /** From 0, as much of the processor as the server gets, to 19, what nobody else wants. */
    niceness: z.int().min(0).max(19).default(5),
    /** Longest silences before a program counts as stuck. */
    silence: z
      .strictObject({
        firstSeconds: count.default(30),
        modelSeconds: count.default(180),
        toolSeconds: count.default(1_800),
      })
      .prefault({}),
  }),
  approvals: z.strictObject({
    /** How long a task waits for a person, where its harness does not say. */
    expiresAfterSeconds: count.default(604_800),
    /** What becomes of a call that nobody decided on in time. */
    onExpiry: z.enum(['deny', 'cancel-run']).default('deny'),
    /** What a tool may do without being asked, where a harness does not say: so for the rest of this group (UR-02). */
    permissionMode: z.enum(['allow-all', 'allow-edits', 'allow-reads']).default('allow-all'),
    /** By tool name. */
    toolPermissions: z.record(z.string(), z.enum(['allow', 'ask', 'deny'])).default({}),
    /** Whether the agent may ask its user. */
    questions: z.boolean().default(false),
    /** What becomes of a command that a crash cut off. */
    onUnknown: z.enum(['tell-model', 'park']).default('tell-model'),
  }),
  limits: z.strictObject({
    /** Largest JSON body (UD-63). */
    maxBodyBytes: count.default(32 * 1024 * 1024),
    /** Largest upload (UD-63). */
    maxUploadBytes: count.default(100 * 1024 * 1024),
    /** What all artifacts of a session may take, and how many there may be (U-423). */
    maxArtifactBytes: count.default(1024 * 1024 * 1024),
    maxArtifacts: count.default(10_000),
    /** For a task that names none (UD-09). */
    timeoutSeconds: count.default(3600),
    /** The most that a task may ask for. */
    maxTimeoutSeconds: count.default(86_400),
    /** How long a server that is stopped says so before it refuses tasks; null = 5 with a database of several machines, else 0. */
    withdrawSeconds: z.int().min(0).nullable().default(null),
    /** How long a server that is stopped lets its tasks end, before it leaves them to another (E-834). */
    drainSeconds: z.int().min(0).default(10),
    /** Tasks at work at one time, over all principals; null = no bound. How many may wait for that beyond them (UD-59). */
    concurrentTasks: count.nullable().default(5_000),
    queuedTasks: z.int().min(0).default(1_000),
    /** What each principal may use. */
    tasksPerMinute: ofPrincipal.tasksPerMinute.default(null),
    runningTasks: ofPrincipal.runningTasks.default(null),
    tokensPerDay: ofPrincipal.tokensPerDay.default(null),
    dollarsPerDay: ofPrincipal.dollarsPerDay.default(null),
    uploadBytesPerDay: ofPrincipal.uploadBytesPerDay.default(null),
    models: ofPrincipal.models.default(null),
    /** What is different for some of them, by name. */
    principals: z.record(text, limitsOfOne).default({}),
  }),
  retention: z.strictObject({
    /** Replay of streams and idempotency keys, from the end of the task (UD-14, UD-62). */
    streamSeconds: count.default(86_400),
    /** Uploads, from when they were made. */
    uploadSeconds: count.default(2_592_000),
    /** The audit log (UR-54). */
    auditSeconds: count.default(31_536_000),
    /** Idle time after which a session expires; null = never. */
    sessionSeconds: count.nullable().default(null),
  }),
  files: z.strictObject({
    /** Name or path of the LibreOffice that makes previews (U-407); null = as found on the path. */
    converter: text.nullable().default(null),
    /** Bucket for uploads and what tasks made, as `s3://bucket/prefix?endpoint=…`; null = the data folder. */
    url: text
      .superRefine((url, context) => {
        const read = parseS3Address(url);
        if (typeof read === 'string') context.addIssue({ code: 'custom', message: read });
      })
      .nullable()
      .default(null),
  }),
  store: z.strictObject({
    /** To the database, where there is one, from each server; two more stand beside them. */
    connections: z.int().min(2).default(10),
  }),
  temporal: z.strictObject({
    /** Host and port of the Temporal that starts the engine's tasks; null = each server starts its own. */
    address: text
      .refine(
        // As an URL has it, but with nothing of an URL around it.
        (address) => /^(?:[\w.-]+|\[[\da-f:.]+\])(?::\d+)?$/i.test(address) && URL.canParse(`http://${address}`),
        'it is host and port alone, as temporal.example:7233, without http://',
      )
      .nullable()
      .default(null),
    namespace: text.default('default'),
    /** The same for all servers and workers of one database. */
    taskQueue: text.default('reins'),
    /** `true` = with the system's certificates; `certFile` and `keyFile` name this side to the other. */
    tls: z
      .union([
        z.boolean(),
        z.strictObject({ caFile: text.optional(), certFile: text.optional(), keyFile: text.optional() }),
      ])
      .default(false),
    /** Steps of tasks that one worker works on at a time. */
    concurrent: count.default(100),
  }),
  webhooks: z.strictObject({
    /** Whether webhooks may be sent to this very machine over http, for development (UR-52). */
    allowLoopback: z.boolean().default(false),
  }),
  demo: z.strictObject({ speed: z.enum(['human', 'full']).default('human') }),
};

export const settings = z.strictObject({
  server: groups.server.prefault({}),
  models: groups.models.prefault({}),
  agent: groups.agent.prefault({}),
  harnesses: groups.harnesses.prefault({}),
  approvals: groups.approvals.prefault({}),
  limits: groups.limits.prefault({}),
  retention: groups.retention.prefault({}),
  files: groups.files.prefault({}),
  store: groups.store.prefault({}),
  temporal: groups.temporal.prefault({}),
  webhooks: groups.webhooks.prefault({}),
  demo: groups.demo.prefault({}),
});
export type Settings = z.infer<typeof settings>;
