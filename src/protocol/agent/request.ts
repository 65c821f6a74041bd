// The body of `POST /api/agent`, checked in the order of A-010, rows 5 to 11: the first that fails answers. Unknown fields
// are ignored.

import * as z from 'zod';
import { parseCwd } from '../../core/agent-cwd.ts';
import { AgentRefusal } from './agent-refusal.ts';

const maxPromptUnits = 4_000_000;
const notJson = 'The body must be JSON: { "prompt": string }.';

/** As it is described; what is parsed below says the same in the words of A-010. */
export const agentBody = z
  .looseObject({
    prompt: z.string().describe('At most 4,000,000 characters'),
    modelId: z.string().nullish().describe('A name of GET /v1/models'),
    cwd: z.string().nullish().describe('Directory for this turn, below the root of the workspace'),
  })
  .meta({ id: 'AgentRequest' });

export interface AgentRequest {
  /** Trimmed. */
  readonly prompt: string;
  readonly modelId: string | null;
  /** Normalised; null: the default. */
  readonly cwd: string | null;
}

/** @param text  The body as it came. @throws AgentRefusal */
export function parseAgentRequest(text: string): AgentRequest {
  const body = z.record(z.string(), z.unknown()).safeParse(parseJson(text)).data;
  if (body === undefined) throw refused('The body must be a JSON object with a "prompt".');
  return { prompt: promptOf(body['prompt']), cwd: cwdOf(body['cwd']), modelId: modelOf(body['modelId']) };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw refused(notJson);
  }
}

function promptOf(given: unknown): string {
  if (typeof given !== 'string') throw refused('"prompt" must be a string.');
  const prompt = given.trim();
  if (prompt === '') throw refused('"prompt" is empty.');
  if (prompt.length > maxPromptUnits) throw refused('"prompt" is longer than 4,000,000 characters.');
  return prompt.toWellFormed();
}

function cwdOf(given: unknown): string | null {
  if (given === undefined || given === null) return null;
  if (typeof given !== 'string') throw refused('"cwd" must be a string.');
  const parsed = parseCwd(given.toWellFormed());
  if (!parsed.ok) throw refused(`Invalid cwd: ${parsed.why}`);
  return parsed.cwd;
}

function modelOf(given: unknown): string | null {
  if (given === undefined || given === null) return null;
  const id = typeof given === 'string' ? given.trim() : '';
  if (!/^[\x21-\x7e]{1,128}$/.test(id)) throw refused('"modelId" must be a model id.');
  return id;
}

function refused(message: string): AgentRefusal {
  return new AgentRefusal(400, message);
}
