import { afterEach, expect, test } from 'vitest';
import { ConfigurationError } from '../core/errors.ts';
import { mkdtemp, open as openFile, readdir, realpath, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  openPdfPreview,
  PreviewBusyError,
  PreviewFailedError,
  type PdfPreview,
  type PdfPreviewOptions,
} from './pdf-preview.ts';
import { systemClock, systemRandom } from '../system.ts';
import { text } from 'node:stream/consumers';
import { tmpdir } from 'node:os';
import { blobOfHandle } from './folder-blobs.ts';
import type { OpenBlob } from './blob-store.ts';
import { existsSync } from 'node:fs';
import { openShell } from '../open-shell.ts';
import { sandboxedConverter } from '../sandboxed-converter.ts';

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

interface Rig {
  readonly folder: string;
  readonly preview: PdfPreview;
  document(content: string): Promise<OpenBlob>;
}

/** A program in the place of LibreOffice: it gets `$in`, the document, and `$out`, where the PDF is to be. */
async function open(script: string, confine?: PdfPreviewOptions['confine']): Promise<Rig> {
  // Not below /tmp, which the sandbox has of its own.
  const folder = await mkdtemp(
    join(await realpath(existsSync('/var/tmp') ? '/var/tmp' : tmpdir()), 'reins-converter-'),
  );
  cleanups.push(() => rm(folder, { recursive: true, force: true }));
  const program = join(folder, 'soffice');
  const head = `#!/bin/sh\nhere="${folder}"\nfor in; do :; done\nout="$(dirname "$in")/out/document.pdf"\nmkdir -p "$(dirname "$out")"\n`;
  await writeFile(program, `${head}${script}\n`, { mode: 0o755 });
  const environment = { PATH: process.env['PATH'] };
  const parts = { clock: systemClock, random: systemRandom, environment, converter: program };
  const preview = openPdfPreview(confine === undefined ? parts : { ...parts, confine });
  if (preview === null) throw new Error('There is a converter.');
  return {
    folder,
    preview,
    async document(content) {
      await writeFile(join(folder, 'given'), content);
      const handle = await openFile(join(folder, 'given'));
      cleanups.push(() => handle.close());
      return blobOfHandle(handle);
    },
  };
}

const never = new AbortController().signal;

test('U-407: a document becomes a PDF under a name of ours, in a folder that is gone when it is read', async () => {
  const { preview, document, folder } = await open(
    'echo "$in" > "$here/in"; pwd > "$here/cwd"; { printf "%%PDF-"; cat "$in"; } > "$out"',
  );
  await using pdf = await preview.convert(await document('text'), 'a/--evil "$(x)".docx', never);
  expect(await text(pdf.stream())).toBe('%PDF-text');
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

test('D1, D2: only so many wait for the converter; who leaves makes room at once', async () => {
  const { preview, document, folder } = await open('while [ ! -e "$here/go" ]; do sleep 0.05; done');
  const [input, other] = [await document('x'), await document('x')];
  const leaving = new AbortController();
  const failed = (signal: AbortSignal, given = input) =>
    preview.convert(given, 'a.txt', signal).catch((cause: unknown) => cause);
  const first = failed(never);
  await expect.poll(async () => (await readdir(folder)).length).toBe(2);
  const left = failed(leaving.signal);
  const others = Array.from({ length: 15 }, () => failed(leaving.signal));
  expect(await failed(never)).toBeInstanceOf(PreviewBusyError);
  leaving.abort();
  expect(await left).toBe(leaving.signal.reason);
  const late = failed(never, other);
  await writeFile(join(folder, 'go'), '');
  expect(await Promise.all([first, late])).toEqual([expect.any(PreviewFailedError), expect.any(PreviewFailedError)]);
  expect(new Set(await Promise.all(others))).toEqual(new Set([leaving.signal.reason]));
});

test('D3: what a converter leaves in place of the PDF is not followed', async () => {
  const secret = 'printf "%%PDF-secret" > "$here/secret"';
  for (const script of [
    'ln -s "$here/secret" "$out"',
    'rmdir "$(dirname "$out")"; mkdir "$here/out"; cp "$here/secret" "$here/out/document.pdf"; ln -s "$here/out" "$(dirname "$out")"',
    'mkfifo "$out"',
  ]) {
    const { preview, document } = await open(`${secret}; ${script}`);
    await expect(preview.convert(await document('x'), 'a.txt', never)).rejects.toThrow(PreviewFailedError);
  }
});

const shell = () => openShell({}, { clock: systemClock, random: systemRandom });
const isSandboxed = (await shell())?.kind === 'sandboxed';

test.skipIf(!isSandboxed)(
  'D3: a converter in the sandbox writes its folder alone, and sees no network and no data',
  async () => {
    const dataDir = await mkdtemp(join(await realpath('/var/tmp'), 'reins-data-'));
    cleanups.push(() => rm(dataDir, { recursive: true, force: true }));
    await writeFile(join(dataDir, 'key'), 'secret');
    const confine = sandboxedConverter({ dataDir, environment: process.env, shell });
    const look = `ls "${dataDir}"; echo x 2>/dev/null >"$here/x" && echo wrote; grep -c : /proc/net/dev; cat "$in"`;
    const { preview, document, folder } = await open(`{ printf "%%PDF-"; ${look}; } >"$out"`, confine);
    await using pdf = await preview.convert(await document('text'), 'a.txt', never);
    expect(await text(pdf.stream())).toBe('%PDF-1\ntext');
    expect(await readdir(folder)).not.toContain('x');
  },
);

test('without a converter there is no preview; one that is named and missing stops the start', () => {
  const parts = { clock: systemClock, random: systemRandom, environment: { PATH: '/nowhere' } };
  expect(openPdfPreview(parts)).toBeNull();
  for (const converter of ['missing', '/nowhere/missing'])
    expect(() => openPdfPreview({ ...parts, converter })).toThrow(ConfigurationError);
});
