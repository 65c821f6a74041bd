import { afterEach, expect, test } from 'vitest';
import { ConfigurationError } from '../core/errors.ts';
import { mkdtemp, open as openFile, readdir, rm, writeFile, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { openPdfPreview, PreviewFailedError, type PdfPreview } from './pdf-preview.ts';
import { systemClock, systemRandom } from '../system.ts';
import { tmpdir } from 'node:os';

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

interface Rig {
  readonly folder: string;
  readonly preview: PdfPreview;
  document(content: string): Promise<FileHandle>;
}

/** A program in the place of LibreOffice: it gets `$in`, the document, and `$out`, where the PDF is to be. */
async function open(script: string): Promise<Rig> {
  const folder = await mkdtemp(join(tmpdir(), 'reins-converter-'));
  cleanups.push(() => rm(folder, { recursive: true, force: true }));
  const program = join(folder, 'soffice');
  const head = `#!/bin/sh\nhere="${folder}"\nfor in; do :; done\nout="$(dirname "$in")/out/document.pdf"\nmkdir -p "$(dirname "$out")"\n`;
  await writeFile(program, `${head}${script}\n`, { mode: 0o755 });
  const environment = { PATH: process.env['PATH'] };
  const preview = openPdfPreview({ clock: systemClock, random: systemRandom, environment, converter: program });
  if (preview === null) throw new Error('There is a converter.');
  return {
    folder,
    preview,
    async document(content) {
      await writeFile(join(folder, 'given'), content);
      const handle = await openFile(join(folder, 'given'));
      cleanups.push(() => handle.close());
      return handle;
    },
  };
}

const never = new AbortController().signal;

test('U-407: a document becomes a PDF under a name of ours, in a folder that is gone when it is read', async () => {
  const { preview, document, folder } = await open(
    'echo "$in" > "$here/in"; pwd > "$here/cwd"; { printf "%%PDF-"; cat "$in"; } > "$out"',
  );
  await using pdf = await preview.convert(await document('text'), 'a/--evil "$(x)".docx', never);
  expect(await pdf.readFile('utf8')).toBe('%PDF-text');
  const [given, cwd] = await Promise.all(
    ['in', 'cwd'].map(async (name) => {
      await using file = await openFile(join(folder, name));
      return (await file.readFile('utf8')).trim();
    }),
  );
  expect(given).toBe(`${cwd}/document.docx`);
  await expect(readdir(cwd ?? '')).rejects.toThrow('ENOENT');
});

test('U-407: a converter that makes nothing, or no PDF, or fails, is a failure and never a broken PDF', async () => {
  for (const script of ['true', 'exit 3', 'echo text > "$out"', ': > "$out"']) {
    const { preview, document } = await open(script);
    await expect(preview.convert(await document('x'), 'a.txt', never)).rejects.toThrow(PreviewFailedError);
  }
});

test('a client that goes stops its converter, and conversions come one after another', async () => {
  const { preview, document, folder } = await open(
    'echo >> "$here/begun"; while [ ! -e "$here/go" ]; do sleep 0.05; done',
  );
  const gone = new AbortController();
  const first = preview.convert(await document('x'), 'a.txt', gone.signal).catch((cause: unknown) => cause);
  const begun = async () => (await readdir(folder)).includes('begun');
  await expect.poll(begun).toBe(true);
  const second = preview.convert(await document('x'), 'a.txt', never).catch((cause: unknown) => cause);
  gone.abort();
  expect(await first).toBeInstanceOf(Error);
  await writeFile(join(folder, 'go'), '');
  expect(await second).toBeInstanceOf(PreviewFailedError);
});

test('without a converter there is no preview; one that is named and missing stops the start', () => {
  const parts = { clock: systemClock, random: systemRandom, environment: { PATH: '/nowhere' } };
  expect(openPdfPreview(parts)).toBeNull();
  for (const converter of ['missing', '/nowhere/missing'])
    expect(() => openPdfPreview({ ...parts, converter })).toThrow(ConfigurationError);
});
