const mostBytes = 3_932_160;
const mostPages = 100;

/**
 * Whether a document is a PDF that providers take, as far as its plain bytes tell: whole, without a password, of few pages. Where
 * they do not tell how many, it is none: a refused one would be refused in each later request of its session, too (B123).
 */
export function isViewablePdf(bytes: Uint8Array): boolean {
  if (bytes.length > mostBytes) return false;
  const text = new TextDecoder('latin1').decode(bytes);
  if (!text.startsWith('%PDF-') || !text.slice(-1_024).includes('%%EOF') || text.includes('/Encrypt')) return false;
  const counts = [...text.matchAll(/\/Count\s+(\d{1,9})/g)].map(([, count]) => Number(count));
  return counts.length > 0 && counts.every((count) => count <= mostPages);
}
