// Ids are branded and carry their wire prefix (U-006), so two kinds can never be swapped by accident.
// One maker and one parser per kind; the casts below are the only ones to an id.

declare const kind: unique symbol;

/** A string that starts with `P`, known to be an id of that kind. */
export type Id<P extends string> = `${P}${string}` & { readonly [kind]: P };

/** A run, which is also one UHP response: the run id is the response id (UD-81). */
export type RunId = Id<'resp_'>;
/** A session. The prefix has no underscore (U-006). */
export type SessionId = Id<'hsess'>;
export type HarnessId = Id<'chrn_'>;
export type ApprovalId = Id<'apr_'>;
export type RuleId = Id<'rule_'>;
export type KeyId = Id<'key_'>;
export type FileId = Id<'file_'>;
/** The files of one session; it has the session's own token. */
export type ContainerId = Id<'cntr_'>;
export type ShareId = Id<'hshr_'>;
export type WebhookId = Id<'wh_'>;

function idKind<P extends string>(prefix: P) {
  return {
    prefix,
    /** Makes a new id from an unguessable token (U-044); the caller brings the randomness. */
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    make: (token: string): Id<P> => `${prefix}${token}` as Id<P>,
    /** The id, or undefined when the text is of another kind. The part behind the prefix is never validated (U-044). */
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    parse: (text: string): Id<P> | undefined => (text.startsWith(prefix) ? (text as Id<P>) : undefined),
  } as const;
}

export const runIds = idKind('resp_');
export const sessionIds = idKind('hsess');
export const harnessIds = idKind('chrn_');
export const approvalIds = idKind('apr_');
export const ruleIds = idKind('rule_');
export const keyIds = idKind('key_');
export const fileIds = idKind('file_');
export const containerIds = idKind('cntr_');
export const shareIds = idKind('hshr_');
export const webhookIds = idKind('wh_');

/** The container of a session (U-007). */
export function containerOf(sessionId: SessionId): ContainerId {
  return containerIds.make(sessionId.slice(sessionIds.prefix.length));
}

/** The session of a container. */
export function sessionOf(containerId: ContainerId): SessionId {
  return sessionIds.make(containerId.slice(containerIds.prefix.length));
}
