/**
 * Google says "quota" of a limit per minute, too, in words that elsewhere mean that the money is spent; only the limit's name
 * tells them apart. True: it will pass.
 */
export function isMinuteQuota(error: unknown): true | undefined {
  if (!(error instanceof Error) || !('responseBody' in error) || typeof error.responseBody !== 'string')
    return undefined;
  return error.responseBody.includes('PerMinute') && !error.responseBody.includes('PerDay') ? true : undefined;
}
