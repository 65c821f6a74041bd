/** `312 B`, `1.4 kB`, `23 MB`. */
export function sizeText(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`;
  const units = ['kB', 'MB', 'GB', 'TB'];
  const power = Math.min(Math.floor(Math.log10(bytes) / 3), units.length);
  const figure = bytes / 1_000 ** power;
  return `${figure < 10 ? figure.toFixed(1) : Math.round(figure)} ${units[power - 1]}`;
}
