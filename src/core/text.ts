// Text inside Reins is well-formed UTF-16 (E-106). These helpers are the only places that repair or cut it.

/** Lone surrogates become U+FFFD; text that is well-formed comes back as it is. */
export function toWellFormed(text: string): string {
  return text.isWellFormed() ? text : text.toWellFormed();
}

/** Splits a trailing high surrogate off, to be held back until its partner arrives: `[whole, held]`. */
export function holdBackSurrogate(text: string): [whole: string, held: string] {
  const last = text.charCodeAt(text.length - 1);
  return last >= 0xd800 && last <= 0xdbff ? [text.slice(0, -1), text.slice(-1)] : [text, ''];
}

/** The first `units` UTF-16 units, one less where the cut would fall inside a pair. */
export function head(text: string, units: number): string {
  return text.length <= units ? text : holdBackSurrogate(text.slice(0, units))[0];
}

/** The last `units` UTF-16 units, one less where the cut would fall inside a pair. */
export function tail(text: string, units: number): string {
  if (text.length <= units) return text;
  const cut = text.slice(text.length - units);
  const first = cut.charCodeAt(0);
  return first >= 0xdc00 && first <= 0xdfff ? cut.slice(1) : cut;
}

/** Keeps `headUnits` and `tailUnits` and says in between how much is missing; short text comes back as it is (E-550). */
export function cutMiddle(text: string, headUnits: number, tailUnits: number): string {
  if (text.length <= headUnits + tailUnits) return text;
  const [start, end] = [head(text, headUnits), tail(text, tailUnits)];
  return `${start}\n[… ${text.length - start.length - end.length} characters left out …]\n${end}`;
}

/** A short fingerprint to compare texts by, not a safe one: 53 bits in base 36 (cyrb53). */
export function hashText(text: string): string {
  let [low, high] = [0xdeadbeef, 0x41c6ce57];
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    low = Math.imul(low ^ unit, 2_654_435_761);
    high = Math.imul(high ^ unit, 1_597_334_677);
  }
  low = Math.imul(low ^ (low >>> 16), 2_246_822_507) ^ Math.imul(high ^ (high >>> 13), 3_266_489_909);
  high = Math.imul(high ^ (high >>> 16), 2_246_822_507) ^ Math.imul(low ^ (low >>> 13), 3_266_489_909);
  return (4_294_967_296 * (2_097_151 & high) + (low >>> 0)).toString(36);
}
