// The engine as a library. This file knows how an agent's parts are put together; how its runs are driven is `runtimes/`.

import { closeInOrder } from './runtimes/close-in-order.ts';
import { assembleAgent, type AssembledAgent } from './runtimes/assembled-agent.ts';
import { createDirectAgent, type Agent } from './runtimes/direct-agent.ts';
import { createFetchUrl } from './engine/tools/fetch-url.ts';
import { ConfigurationError } from './core/errors.ts';
import { createModelHealth } from './engine/model-health.ts';
import { fileTools } from './engine/tools/file-tools.ts';
import { createRedactor } from './core/redact.ts';
import { hostEnvironment, loadConfig, secretsOf, type Config } from './config.ts';
import { lazyTools } from './engine/lazy-tools.ts';
import { openCatalogue } from './open-catalogue.ts';
import { openMcp } from './engine/mcp/open-mcp.ts';
import { openShell, type ShellOptions } from './open-shell.ts';
import { openSkills } from './engine/skills/open-skills.ts';
import { createBashTool } from './engine/tools/bash.ts';
import { packageVersion } from './version.ts';
import { parseAgentConfig, type AgentConfig } from './runtimes/agent-config.ts';
import { resolve } from 'node:path';
import { statSync } from 'node:fs';
import { silentLogger, type Logger } from './core/logger.ts';
import { systemClock, systemRandom } from './system.ts';
import type { Clock } from './core/clock.ts';
import type { Hooks } from './engine/hooks.ts';
import type { McpServer } from './engine/mcp/mcp-server.ts';
import type { Middleware } from './engine/middleware.ts';
import type { Model } from './engine/model.ts';
import type { Random } from './core/random.ts';
import type { Tool, ToolSource } from './engine/tool.ts';
import type { Tracer } from '@opentelemetry/api';

/** What an agent works with: code, folders and connections, where `AgentConfig` is plain data. */
export interface AgentParts {
  /** A model of the caller's own: any language model of an AI SDK provider package. Absent: by name, from the catalogue. */
  readonly provider?: Model;
  readonly tools?: readonly Tool[];
  /** A folder: the agent gets the file tools on it, and every tool is run in it. Absent: no file tools. */
  readonly workspace?: string;
  /** Gives the agent the tool `bash` (E-570). */
  readonly shell?: ShellOptions | true;
  /** Gives the agent `fetch_url`; public hosts, and those that are named here. */
  readonly fetch?: { readonly allowHosts?: readonly string[] } | true;
  readonly mcp?: readonly McpServer[];
  /** Folders that are skills, or hold some (E-904). */
  readonly skills?: readonly string[];
  readonly subagents?: readonly SubAgentParts[];
  readonly hooks?: Hooks | readonly Hooks[];
  readonly middleware?: readonly Middleware[];
  /** Spans with the names of the GenAI conventions; give one of `@opentelemetry/api`. */
  readonly tracer?: Tracer;
  /** Where the causes of failures go; absent: nowhere. */
  readonly logger?: Logger;
  readonly clock?: Clock;
  readonly random?: Random;
  /** Absent: environment and settings file, as for the command line. */
  readonly settings?: Config;
}

export interface SubAgentParts {
  /** The agent's name; its tool is called `delegate_<name>` (E-905). */
  readonly name: string;
  /** For the model: what it can be asked for. */
  readonly description: string;
  readonly config?: Omit<AgentConfig, 'name'>;
  /** What is absent of model, folder, clock, log and traces is the parent's. */
  readonly parts?: AgentParts;
}

/** @throws ConfigurationError  A value that can never work: named, here, never later (E-020). */
export function createAgent(config: AgentConfig = {}, parts: AgentParts = {}): Agent {
  return createDirectAgent(assembleFrom(config, parts));
}

/** Config and parts, put together. @throws ConfigurationError */
export function assembleFrom(config: AgentConfig, parts: AgentParts): AssembledAgent {
  const parsed = parseAgentConfig(config);
  const { logger = silentLogger, clock = systemClock, random = systemRandom } = parts;
  const settings = parts.settings ?? loadConfig({ flags: { host: '127.0.0.1' } });
  const catalogue = openCatalogue(settings, clock);
  const workspace = parts.workspace === undefined ? null : existingFolder(parts.workspace);
  const sources = sourcesOf(parts, { logger, clock, random, workspace });
  const subagents = (parts.subagents ?? []).map(({ name, description, config: own = {}, parts: its = {} }) => ({
    name,
    description,
    agent: assembleFrom({ ...own, name }, { ...inherited(parts, own), ...its }),
  }));
  return assembleAgent({
    config: parsed,
    engine: {
      clock,
      random,
      logger,
      tools: toolsOf(parts, workspace),
      sources,
      health: createModelHealth({ clock }),
      redact: createRedactor(secretsOf(settings)),
      ...(parts.middleware === undefined ? {} : { middleware: parts.middleware }),
    },
    workspace,
    hooks: [parts.hooks ?? []].flat(),
    tracer: parts.tracer ?? null,
    subagents,
    model: parts.provider ?? null,
    catalogue,
    close: () => closeInOrder([...sources, ...subagents.map(({ agent }) => agent), catalogue]),
  });
}

function existingFolder(path: string): string {
  const folder = resolve(path);
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true) return folder;
  throw new ConfigurationError(`The workspace '${folder}' is not a folder.`);
}

/** A sub-agent that names a model does not get its parent's. */
function inherited(parts: AgentParts, { model, provider: named }: AgentConfig): AgentParts {
  const { workspace, logger, clock, random, settings, tracer } = parts;
  const provider = model === undefined && named === undefined ? parts.provider : undefined;
  const entries = Object.entries({ provider, workspace, logger, clock, random, settings, tracer });
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
}

function toolsOf(parts: AgentParts, workspace: string | null): readonly Tool[] {
  const fetch = parts.fetch === true ? {} : parts.fetch;
  return [
    ...(workspace === null ? [] : fileTools),
    ...(fetch === undefined ? [] : [createFetchUrl(fetch)]),
    ...(parts.tools ?? []),
  ];
}

function sourcesOf(
  { mcp, skills, shell }: AgentParts,
  o: { readonly logger: Logger; readonly clock: Clock; readonly random: Random; readonly workspace: string | null },
): readonly ToolSource[] {
  const { logger } = o;
  const environment = hostEnvironment();
  const bash = async () => {
    const opened = await openShell(shell === true ? {} : (shell ?? {}), o);
    return { tools: opened === null ? [] : [createBashTool(opened)] };
  };
  const skillTools = async () => {
    const { prompt, tools } = await openSkills(skills ?? [], o);
    return { tools, ...(prompt === '' ? {} : { guidance: prompt }) };
  };
  return [
    ...(shell === undefined ? [] : [lazyTools('shell', { open: bash, logger })]),
    ...(skills === undefined ? [] : [lazyTools('skills', { open: skillTools, logger })]),
    ...(mcp === undefined
      ? []
      : [openMcp(mcp, { ...o, version: packageVersion(), environment, cwd: o.workspace ?? process.cwd() })]),
  ];
}
