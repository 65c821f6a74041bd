import * as z from 'zod';
import { InvalidInputError } from '../../core/errors.ts';
import type { ApprovalId, HarnessId, RunId, SessionId } from '../../core/ids.ts';
import type { ApprovalDecided, PendingTool } from '../../core/run-event.ts';
import type { Answer, Question } from '../../core/questions.ts';
import { parseBody } from './parse-body.ts';

/** What a task waits for a person to say (UR-05). Times are Unix seconds. */
export type Approval = {
  readonly id: ApprovalId;
  readonly object: 'reins.approval';
  readonly kind: PendingTool['kind'];
  readonly status: PendingTool['status'];
  readonly response_id: RunId;
  readonly session_id: SessionId;
  readonly harness_id: HarnessId | null;
  readonly call_id: string;
  readonly name: string;
  /** JSON text. */
  readonly arguments: string;
  readonly arguments_digest: string;
  readonly reason: string | null;
  /** Null but for a question. */
  readonly questions: readonly UhpQuestion[] | null;
  /** Names of the sub-agents that ask, outermost first. */
  readonly agent_path: readonly string[];
  readonly requested_at: number;
  readonly expires_at: number | null;
  readonly decision: {
    readonly decision: string;
    /** A principal, `rule:<id>`, or `engine`. */
    readonly by: string;
    readonly at: number | null;
    readonly note: string | null;
    /** The rule that this decision made. */
    readonly rule_id: string | null;
  } | null;
};

export type UhpQuestion = {
  readonly id: string;
  readonly question: string;
  readonly options: readonly string[];
  readonly allow_multiple: boolean;
  readonly allow_free_form: boolean;
};

export interface ApprovalPlace {
  readonly runId: RunId;
  readonly sessionId: SessionId;
  readonly harnessId: HarnessId | null;
  readonly callId: string;
  readonly agentPath?: readonly string[];
}

export interface Said extends Pick<ApprovalDecided, 'decision' | 'by' | 'note' | 'ruleId'> {
  readonly atMs: number | null;
}

export function toApproval(pending: PendingTool, place: ApprovalPlace, said: Said | null): Approval {
  return {
    id: pending.approvalId,
    object: 'reins.approval',
    kind: pending.kind,
    status: pending.status,
    response_id: place.runId,
    session_id: place.sessionId,
    harness_id: place.harnessId,
    call_id: place.callId,
    name: pending.call.name,
    arguments: JSON.stringify(pending.call.input),
    arguments_digest: pending.argsDigest,
    reason: pending.reason ?? null,
    questions: pending.questions?.map(toUhpQuestion) ?? null,
    agent_path: pending.agentPath ?? place.agentPath ?? [],
    requested_at: toSeconds(pending.requestedAtMs),
    expires_at: pending.expiresAtMs === null ? null : toSeconds(pending.expiresAtMs),
    decision:
      said === null
        ? null
        : {
            decision: said.decision,
            by: said.by,
            at: said.atMs === null ? null : toSeconds(said.atMs),
            note: said.note ?? null,
            rule_id: said.ruleId ?? null,
          },
  };
}

function toUhpQuestion({ id, question, options = [], allowMultiple, allowFreeForm }: Question): UhpQuestion {
  return {
    id,
    question,
    options,
    allow_multiple: allowMultiple ?? false,
    allow_free_form: allowFreeForm ?? options.length === 0,
  };
}

function toSeconds(ms: number): number {
  return Math.floor(ms / 1000);
}

const maxNoteUnits = 10_000;
const note = z.string('must be a string').max(maxNoteUnits, `may hold at most ${maxNoteUnits} characters`).nullish();

export const decideBody = z.object({
  decision: z.enum(['approve', 'deny'], 'must be approve or deny'),
  arguments_digest: z.string('must be a string').nullish(),
  note,
  remember: z
    .object(
      {
        scope: z.enum(['run', 'session', 'agent'], 'must be run, session or agent'),
        match: z.union(
          [z.enum(['tool', 'exact-args']), z.object({ path_prefix: z.string().min(1) })],
          'must be tool, exact-args or {path_prefix}',
        ),
      },
      'must be an object with scope and match',
    )
    .nullish(),
});

export const answerBody = z.object({
  answers: z
    .array(
      z.object(
        {
          id: z.string('must be a string'),
          selected: z.array(z.string('must be a string'), 'must be a list of options').nullish(),
          text: z.string('must be a string').nullish(),
        },
        'must be an object with id',
      ),
      'must be a list',
    )
    .nullish(),
  declined: z.boolean('must be true or false').nullish(),
});

export const resolveBody = z.object({
  action: z.enum(['result', 'retry', 'abort'], 'must be result, retry or abort'),
  output: z.string('must be a string').nullish(),
  is_error: z.boolean('must be true or false').nullish(),
});

/** The body of UR-12. @throws InvalidInputError */
export function parseDecide(body: unknown) {
  const { decision, arguments_digest, note: said, remember } = parseBody(decideBody, body);
  return {
    verb: 'decide' as const,
    decision,
    argsDigest: arguments_digest ?? null,
    note: said ?? null,
    remember: remember === null || remember === undefined ? null : { ...remember, match: toMatch(remember.match) },
  };
}

function toMatch(match: 'tool' | 'exact-args' | { readonly path_prefix: string }) {
  return typeof match === 'string' ? match : { pathPrefix: match.path_prefix };
}

/** The body of UR-13: answers, or that there will be none. @throws InvalidInputError */
export function parseAnswer(body: unknown) {
  const { answers, declined } = parseBody(answerBody, body);
  const verb = 'answer' as const;
  const given = answers ?? null;
  if (given !== null && declined !== true) return { verb, answers: given.map(toAnswer) };
  if (given === null && declined === true) return { verb, answers: 'declined' as const };
  throw new InvalidInputError('Give either answers, or declined as true.', 'answers');
}

function toAnswer({
  id,
  selected,
  text,
}: {
  id: string;
  selected?: string[] | null | undefined;
  text?: string | null | undefined;
}): Answer {
  return {
    id,
    ...(selected === null || selected === undefined ? {} : { selected }),
    ...(text === null || text === undefined ? {} : { text }),
  };
}

/** The body of UR-14. @throws InvalidInputError */
export function parseResolve(body: unknown) {
  const { action, output, is_error } = parseBody(resolveBody, body);
  if (action !== 'result') return { verb: 'resolve' as const, action };
  if (output === null || output === undefined)
    throw new InvalidInputError('output must say what the call gave.', 'output');
  return { verb: 'resolve' as const, action: { output, isError: is_error ?? false } };
}
