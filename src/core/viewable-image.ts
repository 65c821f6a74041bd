// Which bytes are an image that every provider takes: by what they are, whatever they are called. One that is cut off, damaged,
// too large or of another kind would be refused, and with it each later request of its session (B123).

import { crc32 } from './crc32.ts';

type ImageType = 'image/png' | 'image/jpeg' | 'image/gif' | 'image/webp';

interface Size {
  readonly width: number;
  readonly height: number;
}

/** 5 MiB in base64. */
const mostBytes = 3_932_160;
const mostPixels = 8_000;

/** Null: it is not to be shown to a model. */
export function viewableImage(bytes: Uint8Array): ImageType | null {
  if (bytes.length > mostBytes) return null;
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (const [type, sizeOf] of readers) {
    const size = sizeOf(view);
    if (size !== null) return isViewable(size) ? type : null;
  }
  return null;
}

function isViewable({ width, height }: Size): boolean {
  return width > 0 && height > 0 && width <= mostPixels && height <= mostPixels;
}

/** Each gives the size of a whole image of its kind, null for anything else. */
const readers: readonly (readonly [ImageType, (view: Buffer) => Size | null])[] = [
  ['image/png', readPng],
  ['image/jpeg', readJpeg],
  ['image/gif', readGif],
  ['image/webp', readWebp],
];

function readPng(view: Buffer): Size | null {
  if (!view.subarray(0, 8).equals(Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'))) return null;
  let size: Size | null = null;
  let hasData = false;
  for (let at = 8; at + 12 <= view.length;) {
    const [length, type] = [view.readUInt32BE(at), view.toString('latin1', at + 4, at + 8)];
    const end = at + 8 + length;
    if (end + 4 > view.length || crc32(view.subarray(at + 4, end)) !== view.readUInt32BE(end)) return null;
    if (type === 'IHDR' && length === 13)
      size = { width: view.readUInt32BE(at + 8), height: view.readUInt32BE(at + 12) };
    hasData ||= type === 'IDAT' && length > 0;
    if (type === 'IEND') return hasData ? size : null;
    at = end + 4;
  }
  return null;
}

function readJpeg(view: Buffer): Size | null {
  if (view.length < 4 || view.readUInt16BE(0) !== 0xffd8) return null;
  let size: Size | null = null;
  for (let at = 2; at + 4 <= view.length && view[at] === 0xff;) {
    const marker = view[at + 1] ?? 0;
    const end = at + 2 + view.readUInt16BE(at + 2);
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
    if (isFrame && at + 9 <= view.length)
      size = { height: view.readUInt16BE(at + 5), width: view.readUInt16BE(at + 7) };
    // From here on there are no lengths: the end mark has to come.
    if (marker === 0xda) return view.lastIndexOf(Buffer.from([0xff, 0xd9])) > end ? size : null;
    at = end;
  }
  return null;
}

function readGif(view: Buffer): Size | null {
  if (!/^GIF8[79]a/.test(view.toString('latin1', 0, 6)) || view.length < 14 || view.at(-1) !== 0x3b) return null;
  return { width: view.readUInt16LE(6), height: view.readUInt16LE(8) };
}

function readWebp(view: Buffer): Size | null {
  if (view.length < 30 || view.toString('latin1', 0, 4) !== 'RIFF' || view.readUInt32LE(4) + 8 > view.length)
    return null;
  switch (view.toString('latin1', 8, 16)) {
    case 'WEBPVP8 ':
      return { width: view.readUInt16LE(26) & 0x3fff, height: view.readUInt16LE(28) & 0x3fff };
    case 'WEBPVP8L': {
      const bits = view.readUInt32LE(21);
      return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 };
    }
    case 'WEBPVP8X':
      return { width: view.readUIntLE(24, 3) + 1, height: view.readUIntLE(27, 3) + 1 };
    default:
      return null;
  }
}
