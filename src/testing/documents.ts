// Documents and images of which a provider refuses some, made here: they are too large, or too odd, to lie about.

import { crc32, deflateSync } from 'node:zlib';

/** A whole PDF of so many pages, all of its bytes such as could stand in a text. */
export function pdf(pages: number, trailer = ''): Buffer {
  const kids = Array.from({ length: pages }, (_, n) => `${n + 3} 0 R`).join(' ');
  const objects = [
    '<</Type/Catalog/Pages 2 0 R>>',
    `<</Type/Pages/Kids[${kids}]/Count ${pages}>>`,
    ...Array.from({ length: pages }, () => '<</Type/Page/Parent 2 0 R/MediaBox[0 0 99 99]>>'),
  ];
  let text = '%PDF-1.4\n';
  const offsets = objects.map((object, index) => {
    const offset = text.length;
    text += `${index + 1} 0 obj${object}endobj\n`;
    return `${String(offset).padStart(10, '0')} 00000 n \n`;
  });
  const size = objects.length + 1;
  const table = `xref\n0 ${size}\n0000000000 65535 f \n${offsets.join('')}`;
  return Buffer.from(
    `${text}${table}trailer<</Size ${size}/Root 1 0 R${trailer}>>\nstartxref\n${text.length}\n%%EOF\n`,
  );
}

/** One that opens with a password only. */
export const lockedPdf = (): Buffer => {
  const digest = '0'.repeat(64);
  const lock = `<</Filter/Standard/V 1/R 2/P -4/O<${digest}>/U<${digest}>>>`;
  return pdf(1, `/ID[<00><00>]/Encrypt ${lock}`);
};

/** A whole PNG, black. */
export function png(width: number, height: number): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header[8] = 1; // one bit a pixel
  const rows = deflateSync(Buffer.alloc((1 + Math.ceil(width / 8)) * height));
  const mark = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1');
  return Buffer.concat([mark, chunk('IHDR', header), chunk('IDAT', rows), chunk('IEND', Buffer.alloc(0))]);
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type), data]);
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  sum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, sum]);
}
