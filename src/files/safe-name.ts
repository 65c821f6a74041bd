// A name that a client gave, made one that a file can have anywhere: no path, no device, nothing that a terminal or a header
// would take for more than a name (B121). What is left of it is recognisable.

const maxBytes = 255;
const reserved = /^(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(?=\.|$)/i;

/** At most 255 bytes of UTF-8; never empty, `.` or `..`. */
export function safeName(name: string): string {
  const last =
    name
      .toWellFormed()
      .split(/[/\\]/)
      .findLast((part) => part !== '') ?? '';
  const plain = last
    .replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, ' ')
    .replaceAll(/[<>:"|?*]/g, '_')
    .replace(/^\s+/, '')
    .replace(/[.\s]+$/, '');
  const given = plain === '' || /^\.+$/.test(plain) ? 'file' : plain;
  return cut(reserved.test(given) ? `_${given}` : given);
}

/** With its ending where that is short. */
function cut(name: string): string {
  if (bytesOf(name) <= maxBytes) return name;
  const ending = /\.[^.]{1,16}$/.exec(name)?.[0] ?? '';
  return `${cutTo(name.slice(0, name.length - ending.length), maxBytes - bytesOf(ending))}${ending}`;
}

/** As many whole characters as fit; none of the ends that `safeName` takes away comes back. */
function cutTo(text: string, bytes: number): string {
  const whole = Buffer.from(text);
  let end = Math.min(bytes, whole.length);
  while (end < whole.length && ((whole[end] ?? 0) & 0xc0) === 0x80) end--;
  return whole.toString('utf8', 0, end).replace(/[.\s]+$/, '');
}

function bytesOf(text: string): number {
  return Buffer.byteLength(text);
}

/** What may be written before the ending, short enough for that; and the ending. */
export function splitName(name: string): readonly [string, string] {
  const ending = /(?<=.)\.[^.]{1,16}$/.exec(name)?.[0] ?? '';
  return [cutTo(name.slice(0, name.length - ending.length), 180), ending];
}

/** The name itself, then with a number before its ending: without an end. */
export function* namesLike(name: string): Generator<string, never> {
  yield name;
  const [stem, ending] = splitName(name);
  for (let number = 2; ; number++) yield `${stem} (${number})${ending}`;
}
