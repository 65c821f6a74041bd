import { expect, test } from 'vitest';
import { lockedPdf, pdf, png } from '../testing/documents.ts';
import { toolMediaType } from './tool-media-type.ts';

const unshown = 'application/octet-stream';

test('B123: an image is what its bytes are, and one that no provider takes is just bytes', () => {
  expect(toolMediaType('image/jpeg', png(4, 4))).toBe('image/png');
  expect(toolMediaType('Image/PNG; q=1', png(4, 4))).toBe('image/png');
  expect(toolMediaType('image/png', png(4, 4).subarray(0, 40))).toBe(unshown);
  expect(toolMediaType('image/png', png(8_001, 4))).toBe(unshown);
  expect(toolMediaType('image/svg+xml', Buffer.from('<svg/>'))).toBe(unshown);
});

test('B123: a PDF is one if it is whole, open, and of no more pages than providers take', () => {
  const of = (bytes: Uint8Array) => toolMediaType('application/pdf', bytes);
  expect([of(pdf(1)), of(pdf(100))]).toEqual(['application/pdf', 'application/pdf']);
  for (const bytes of [pdf(101), lockedPdf(), pdf(1).subarray(0, -10), png(4, 4), Buffer.alloc(0)])
    expect(of(bytes)).toBe(unshown);
});

test('what else there is keeps its type, but a text, which would be dropped', () => {
  expect(toolMediaType('audio/wav', Buffer.from('RIFF'))).toBe('audio/wav');
  expect(toolMediaType('text/plain', Buffer.from('x'))).toBe(unshown);
});
