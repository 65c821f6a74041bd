/** Bytes of a text in UTF-8; a lone surrogate counts as what stands in for it. */
export function utf8Bytes(text: string): number {
  let bytes = text.length;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    if (unit < 0x80) continue;
    if (unit < 0x800) bytes += 1;
    else if (isHigh(unit) && isLow(text.charCodeAt(at + 1))) {
      bytes += 2;
      at++;
    } else bytes += 2;
  }
  return bytes;
}

/** The longest beginning of at most so many bytes; no pair of surrogates is cut in two. */
export function cutToBytes(text: string, bytes: number): string {
  if (text.length * 3 <= bytes) return text;
  let left = bytes;
  let at = 0;
  while (at < text.length) {
    const unit = text.charCodeAt(at);
    const pair = isHigh(unit) && isLow(text.charCodeAt(at + 1));
    left -= unit < 0x80 ? 1 : unit < 0x800 ? 2 : pair ? 4 : 3;
    if (left < 0) break;
    at += pair ? 2 : 1;
  }
  return text.slice(0, at);
}

/** At most so many UTF-16 units, the last of them `…` where something was cut off. */
export function shorten(text: string, units: number): string {
  if (text.length <= units) return text;
  const cut = text.slice(0, units - 1);
  return `${isHigh(cut.charCodeAt(cut.length - 1)) ? cut.slice(0, -1) : cut}…`;
}

export function collapse(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim();
}

function isHigh(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}

function isLow(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff;
}
