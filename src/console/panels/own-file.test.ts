import { expect, test } from 'vitest';
import { ownFile } from './own-file.ts';
import type { UhpFile } from '../state/wire.ts';

const files = ['plot.png', 'out/a b.png', 'gone.png'].map(
  (filename) => ({ filename, ...(filename === 'gone.png' ? { reins_deleted: true } : {}) }) as UhpFile,
);

test.each([
  ['plot.png', 'plot.png'],
  ['./plot.png', 'plot.png'],
  ['plot.png?x#y', 'plot.png'],
  ['out/a%20b.png', 'out/a b.png'],
  ['gone.png', undefined],
  ['other.png', undefined],
  ['/plot.png', undefined],
  ['//plot.png', undefined],
  ['https://x.example/plot.png', undefined],
  ['javascript:plot.png', undefined],
  ['%E0%A4%A', undefined],
  ['', undefined],
])('C-061: the address %s is the file %s', (address, filename) => {
  expect(ownFile(files, address)?.filename).toBe(filename);
});
