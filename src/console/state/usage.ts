import type { Spent } from './wire.ts';

/** `12,340 tokens in · 512 out · 9,000 from cache`; null where nothing is known. */
export function usageText({ reins_usage: usage = {} }: Spent): string | null {
  const { input_tokens: sent, output_tokens: made, cache_read_tokens: cached } = usage;
  const parts = [
    sent === undefined ? [] : [`${count(sent)} tokens in`],
    made === undefined ? [] : [`${count(made)}${sent === undefined ? ' tokens' : ''} out`],
    cached === undefined || cached === 0 ? [] : [`${count(cached)} from cache`],
  ].flat();
  return parts.length === 0 ? null : parts.join(' · ');
}

/** `$0.0412`; `about` where a price is not known for sure, `at least` where there is none of a part. Null: none is known. */
export function costText({ reins_cost: cost, reins_cost_partial: isPartial }: Spent): string | null {
  if (cost === undefined) return null;
  const { dollars, estimated } = cost;
  const small = dollars > 0 && dollars < 0.000_1;
  const digits = dollars !== 0 && dollars < 1 ? 4 : 2;
  return `${isPartial === true ? 'at least ' : estimated ? 'about ' : ''}${small ? 'under $0.0001' : `$${dollars.toFixed(digits)}`}`;
}

/** Tokens and money in one line; null where nothing is known. */
export function spentText(spent: Spent): string | null {
  const parts = [usageText(spent), costText(spent)].filter((part) => part !== null);
  return parts.length === 0 ? null : parts.join(' · ');
}

function count(figure: number): string {
  return figure.toLocaleString('en-GB');
}

/** Null where it is not told. */
export function tookText({ tookMs }: { readonly tookMs: number | null }): string | null {
  return tookMs === null ? null : durationText(tookMs);
}

/** `42 s`, `3 min 5 s`, `1 h 2 min`, `6 days`. */
export function durationText(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1_000));
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${seconds % 60} s`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.round(hours / 24)} days`;
}
