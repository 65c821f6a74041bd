/** Names that some systems take for devices. */
const reserved = /^(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)/i;
const maxUnits = 180;

/**
 * The last part of a path that an agent chose, as a name for a download: nothing that leads elsewhere, hides the true ending,
 * or cannot be written (C-053).
 */
export function safeFileName(path: string): string {
  const name = (path.split(/[/\\]/).at(-1) ?? '')
    .toWellFormed()
    // Control and format characters, among them those that turn the direction of a text around.
    .replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '')
    .replaceAll(/[<>:"|?*]/g, '_')
    .replace(/^[.\s]+/, '')
    .replace(/[.\s]+$/, '');
  const whole = reserved.test(name) ? `_${name}` : name;
  if (whole === '') return 'file';
  if (whole.length <= maxUnits) return whole;
  const ending = /\.[^.]{1,16}$/.exec(whole)?.[0] ?? '';
  return `${whole.slice(0, maxUnits - ending.length)}${ending}`.toWellFormed();
}
