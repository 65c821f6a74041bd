/** Absent limit: there is none. Times are Unix seconds. */
export type UhpUsed = { readonly used: number; readonly limit?: number; readonly resets_at?: number };

export type UhpPrincipalUsage = {
  readonly principal: string;
  /** The day of UTC that `tokens`, `dollars` and `upload_bytes` count. */
  readonly window: { readonly starts_at: number; readonly resets_at: number };
  /** Begun within the last minute. */
  readonly tasks: UhpUsed;
  readonly running: UhpUsed;
  readonly tokens: UhpUsed;
  readonly dollars: UhpUsed;
  readonly upload_bytes: UhpUsed;
};

interface Used {
  readonly used: number;
  readonly limit?: number;
  readonly resetsAt?: number;
}

export function toUhpUsageOf(
  principal: string,
  usage: {
    readonly day: { readonly startsAt: number; readonly resetsAt: number };
    readonly tasks: Used;
    readonly running: Used;
    readonly tokens: Used;
    readonly dollars: Used;
    readonly uploadBytes: Used;
  },
): UhpPrincipalUsage {
  const { day, tasks, running, tokens, dollars, uploadBytes } = usage;
  return {
    principal,
    window: { starts_at: day.startsAt, resets_at: day.resetsAt },
    tasks: toUsed(tasks),
    running: toUsed(running),
    tokens: toUsed(tokens),
    dollars: toUsed(dollars),
    upload_bytes: toUsed(uploadBytes),
  };
}

function toUsed({ resetsAt, ...rest }: Used): UhpUsed {
  return resetsAt === undefined ? rest : { ...rest, resets_at: resetsAt };
}
