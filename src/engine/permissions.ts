// Whether a prepared call may run: judged on the call as it will be dispatched, and again right before it is (E-520, E-524).

import { realpath } from 'node:fs/promises';
import { dirname, join, resolve, sep } from 'node:path';
import type { JsonObject } from '../core/json.ts';
import type { PermissionLevel, Tool, UseKind } from './tool.ts';
import type { PermissionMode, RunPermissions } from '../core/run-config.ts';
import type { Rule } from '../core/rule.ts';

export interface Judgement {
  readonly level: PermissionLevel;
  /** What decided: `policy` or `rule:<id>`. */
  readonly authority: string;
}

export interface JudgedCall {
  readonly tool: Tool;
  readonly input: JsonObject;
  readonly argsDigest: string;
  readonly workspace: string;
  /** Where in it relative paths begin; absent: at its root. */
  readonly directory?: string | undefined;
  /** The files that it names; absent: its input's `path`. */
  readonly paths?: readonly string[] | undefined;
}

interface Settings {
  readonly permissions: RunPermissions | undefined;
  readonly defaultLevel: PermissionLevel;
  readonly rules: readonly Rule[];
}

/** Where nobody can be asked, what would have to be is denied. */
export async function judge(call: JudgedCall, settings: Settings): Promise<Judgement> {
  const judgement = await judgeFully(call, settings);
  const denied = judgement.level === 'ask' && settings.permissions?.unattended === true;
  return denied ? { level: 'deny', authority: 'policy' } : judgement;
}

/** The stricter of what the agent's permissions say and what those above it do (E-905). */
async function judgeFully(call: JudgedCall, settings: Settings): Promise<Judgement> {
  const own = await judgeAlone(call, settings);
  const above = settings.permissions?.above;
  if (above === undefined || own.level === 'deny') return own;
  const theirs = await judge(call, { ...settings, permissions: above });
  return theirs.level === 'allow' ? own : theirs;
}

/** A `deny` from any side wins; else a remembered rule; else the agent's word, the tool's own, the mode, the default. */
async function judgeAlone(call: JudgedCall, { permissions, defaultLevel, rules }: Settings): Promise<Judgement> {
  const { tool } = call;
  const own = permissions?.tools[tool.name];
  const levels = [own, tool.permission, byMode(tool.useKind, permissions?.mode)].filter((level) => level !== undefined);
  if (levels.includes('deny')) return { level: 'deny', authority: 'policy' };
  const fitting: Rule[] = [];
  for (const rule of rules) if (await fits(rule, call)) fitting.push(rule);
  const rule = fitting.find(({ effect }) => effect === 'deny') ?? fitting[0];
  if (rule !== undefined) return { level: rule.effect, authority: `rule:${rule.ruleId}` };
  return { level: levels[0] ?? defaultLevel, authority: 'policy' };
}

const allowed: Record<PermissionMode, readonly UseKind[]> = {
  'allow-all': ['readonly', 'edit', 'execute', 'network'],
  'allow-edits': ['readonly', 'edit'],
  'allow-reads': ['readonly'],
};

/** A mode speaks of tools that say what they do; `allow-all` leaves the rest to the default (E-521). */
function byMode(useKind: UseKind | undefined, mode: PermissionMode = 'allow-all'): PermissionLevel | undefined {
  if (useKind === undefined) return mode === 'allow-all' ? undefined : 'ask';
  return allowed[mode].includes(useKind) ? 'allow' : 'ask';
}

async function fits({ toolName, toolIdentity, effect, match, argsDigest }: Rule, call: JudgedCall): Promise<boolean> {
  if (toolName !== call.tool.name) return false;
  // A tool that has changed is not what was allowed; one that was denied stays denied (E-903).
  if (effect === 'allow' && toolIdentity !== call.tool.identity) return false;
  if (match === 'tool') return true;
  if (match === 'exact-args') return argsDigest === call.argsDigest;
  const path = call.input['path'];
  const named = call.paths ?? (typeof path === 'string' ? [path] : []);
  if (named.length === 0) return false;
  const prefix = await realPathOf(resolve(call.workspace, match.pathPrefix));
  const below = prefix.endsWith(sep) ? prefix : prefix + sep;
  const reals = await Promise.all(
    named.map((each) => realPathOf(resolve(call.workspace, call.directory ?? '.', each))),
  );
  const isIn = (real: string) => real === prefix || real.startsWith(below);
  // Of several files, one is enough to forbid the call, and all are needed to allow it.
  return effect === 'deny' ? reals.some(isIn) : reals.every(isIn);
}

/** The path with links resolved, as far as it exists: a file that is still to be made is judged by its folder. */
async function realPathOf(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch {
    const parent = dirname(path);
    return parent === path ? path : join(await realPathOf(parent), path.slice(parent.length));
  }
}
