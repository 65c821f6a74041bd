// Does what the reducer asks for. Each effect has one place here, and what it leads to comes back as an action.

import { AuthenticationError, type Client } from '../../client/index.ts';
import {
  attachTurn,
  giveSlotAway,
  rereadTurn,
  sendSimpleTurn,
  sendTurn,
  wantSlot,
  type LinkParts,
} from './turn-link.ts';
import { cancelTurn, decideApproval, resumeTurn, steerTurn } from './ask-server.ts';
import { createAttachments } from './attachments.ts';
import { createStreamHolder } from './stream-holder.ts';
import { createStreamSlots } from './stream-slots.ts';
import { isUndecided } from '../state/from-uhp.ts';
import { listApprovals, listSessions, readCatalogue, readShare } from './list-server.ts';
import { messageOf } from './call-failures.ts';
import { pathOf } from './watch-page.ts';
import { readEarlier, readSession } from './read-session.ts';
import type { ActionBody } from '../state/action.ts';
import type { ActionLoop } from './action-loop.ts';
import type { FileDoor, PageEffect } from '../panels/console-store.ts';
import type { Effect } from '../state/effect.ts';
import type { Kept } from './kept.ts';
import type { Platform } from './platform.ts';
import type { UhpResponse, UhpSession } from '../state/wire.ts';

export interface PerformerParts {
  readonly platform: Platform;
  readonly client: Client;
  readonly kept: Kept;
  readonly loop: Pick<ActionLoop, 'getState' | 'dispatch'>;
  readonly cue: (effect: PageEffect) => void;
  readonly onSignedOut: () => void;
  /** Other tabs are told. @returns  The same. */
  readonly renamed: (session: UhpSession) => UhpSession;
}

export interface Performer {
  readonly perform: (effect: Effect) => void;
  readonly readCatalogue: () => void;
  readonly attach: FileDoor['attach'];
  readonly silentMs: () => number;
  readonly giveSlotAway: () => void;
  readonly wantSlot: () => void;
  close(): void;
}

type Handlers = { readonly [T in Effect['type']]: (effect: Extract<Effect, { type: T }>) => void };

export function createPerformer(parts: PerformerParts): Performer {
  const { platform, client, loop, onSignedOut } = parts;
  const holder = createStreamHolder(platform, createStreamSlots(platform.locks));
  const once = platform.connect({ maxAttempts: 1, timeoutMs: 15_000 });
  const link: LinkParts = { client: once, holder, random: platform.random, loop, onSignedOut };
  const attachments = createAttachments(client, loop.dispatch, () => platform.random.token());
  const tell = createTelling(parts);
  const handlers: Handlers = {
    ...turnHandlers(link, { ...parts, tell }),
    ...sessionHandlers({ ...parts, tell }),
    ...pageHandlers(parts),
    upload: (effect) => void attachments.upload(effect),
  };
  return {
    perform: (effect) => handle(handlers, effect.type, effect),
    readCatalogue: () => tell('catalogue', readCatalogue(client)),
    attach: attachments.add,
    silentMs: holder.silentMs,
    giveSlotAway: () => giveSlotAway(link),
    wantSlot: () => void wantSlot(link),
    close: holder.close,
  };
}

function handle<T extends Effect['type']>(handlers: Handlers, type: T, effect: Extract<Effect, { type: T }>): void {
  handlers[type](effect);
}

/** Dispatches what comes of a request, or that it failed. */
type Tell = (what: string, answer: Promise<ActionBody>) => void;

function createTelling({ loop, onSignedOut }: PerformerParts): Tell {
  return (what, answer) =>
    void answer.then(loop.dispatch, (error: unknown) => {
      if (error instanceof AuthenticationError) onSignedOut();
      else loop.dispatch({ type: 'failed', id: what, message: messageOf(error) });
    });
}

type HandlersOf<T extends Effect['type']> = Pick<Handlers, T>;
type Telling = PerformerParts & { readonly tell: Tell };

function turnHandlers(
  link: LinkParts,
  { client, loop, tell }: Telling,
): HandlersOf<'send' | 'sendSimple' | 'attach' | 'reread' | 'detach' | 'cancel' | 'resume' | 'steer' | 'decide'> {
  /** C-050: without a stream, the number of what waits is all that is heard of it. */
  const readAsked = (response: UhpResponse | null) => {
    const { approvals, session } = loop.getState();
    const open = approvals.filter(({ approval }) => isUndecided(approval)).length;
    if (session.kind !== 'open' || response === null || (response.metadata['reins_pending'] ?? 0) === open) return;
    tell('approvals', listApprovals(client, { sessionId: session.id }));
  };
  return {
    send: (effect) => void sendTurn(link, effect),
    sendSimple: (effect) => void sendSimpleTurn(link, effect),
    attach: (effect) => void attachTurn(link, effect),
    reread: (effect) => void rereadTurn(link, effect).then(readAsked),
    detach: ({ turn }) => link.holder.letGo(turn),
    cancel: (effect) => tell('cancel', cancelTurn(client, effect)),
    resume: (effect) => tell('resume', resumeTurn(client, effect)),
    steer: (effect) => tell('steer', steerTurn(client, effect)),
    decide: (effect) => tell('decide', decideApproval(client, effect)),
  };
}

function sessionHandlers({
  client,
  kept,
  platform: { clock },
  loop,
  renamed,
  tell,
}: Telling): HandlersOf<
  | 'loadSession'
  | 'fetchEarlier'
  | 'loadApprovals'
  | 'loadFiles'
  | 'loadSessions'
  | 'settleSearch'
  | 'lookAtSession'
  | 'renameSession'
  | 'deleteSession'
  | 'share'
  | 'unshare'
  | 'readShare'
> {
  let reading = new AbortController();
  let cancelSearch = () => {};
  const next = () => {
    reading.abort();
    reading = new AbortController();
    return reading.signal;
  };
  /** What another opening has overtaken is not told. */
  const unless = (signal: AbortSignal, answer: Promise<ActionBody>): Promise<ActionBody> =>
    answer.catch((error: unknown) => {
      if (signal.aborted) return new Promise<ActionBody>(() => {});
      throw error;
    });
  const change =
    (verb: 'share' | 'unshare') =>
    async (sessionId: string): Promise<ActionBody> => ({
      type: 'shared',
      share: await client.sessions[verb](sessionId),
    });
  return {
    loadSession({ sessionId }) {
      const signal = next();
      const answer = readSession(client, sessionId, { kept, signal }).catch((error: unknown): ActionBody => {
        if (signal.aborted || error instanceof AuthenticationError) throw error;
        return { type: 'session_missing', sessionId, message: messageOf(error) };
      });
      tell('session', unless(signal, answer));
    },
    fetchEarlier(effect) {
      const signal = next();
      tell('earlier', unless(signal, readEarlier(client, effect, signal)));
    },
    loadApprovals: (effect) => tell('approvals', listApprovals(client, effect)),
    loadFiles: ({ sessionId }) =>
      tell(
        'files',
        client.sessions.files(sessionId).then((files) => ({ type: 'files_loaded', files })),
      ),
    loadSessions: (effect) => tell('sessions', listSessions(client, effect)),
    settleSearch({ delayMs }) {
      cancelSearch();
      cancelSearch = clock.timer(delayMs, () => loop.dispatch({ type: 'search_settled' }));
    },
    lookAtSession: ({ sessionId }) => tell('session', seen(client.sessions.get(sessionId))),
    renameSession: ({ sessionId, title }) =>
      tell('rename', seen(client.sessions.rename(sessionId, title).then(renamed))),
    deleteSession({ sessionId }) {
      kept.dropDraft(sessionId);
      tell(
        'delete',
        client.sessions.delete(sessionId).then(() => ({ type: 'session_deleted', sessionId })),
      );
    },
    share: ({ sessionId }) => tell('share', change('share')(sessionId)),
    unshare: ({ sessionId }) => tell('share', change('unshare')(sessionId)),
    readShare: (effect) => tell('share', readShare(client, effect)),
  };
}

async function seen(session: Promise<UhpSession>): Promise<ActionBody> {
  return { type: 'session_seen', session: await session };
}

function pageHandlers({
  platform,
  kept,
  cue,
}: PerformerParts): HandlersOf<
  'navigate' | 'announce' | 'focus' | 'follow' | 'saveDraft' | 'savePreferences' | 'saveRows'
> {
  return {
    navigate({ sessionId }) {
      const path = pathOf(sessionId);
      if (path !== platform.path()) platform.pushPath(path);
    },
    announce: cue,
    focus: cue,
    follow: cue,
    saveDraft: (effect) => kept.saveDraft(effect),
    savePreferences: (effect) => kept.savePreferences(effect),
    saveRows: ({ rows }) => kept.saveRows(rows),
  };
}
