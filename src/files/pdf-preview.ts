// PDFs of documents, by a program that is not ours.
//
// D1. One conversion at a time, as a converter takes as much of the machine as it gets; a few wait, more are refused.
// D2. Who leaves gives up its place at once, waiting or at work.
// D3. Documents are hostile: the converter is confined where that can be had, and what it leaves is read through no link.

import { basename, dirname, extname, isAbsolute, join } from 'node:path';
import { blobOfHandle } from './folder-blobs.ts';
import { findProgram } from '../process/find-program.ts';
import { lstat, mkdtemp, open, realpath, rm, writeFile, type FileHandle } from 'node:fs/promises';
import { ConfigurationError, ReinsError } from '../core/errors.ts';
import { runProcess } from '../process/run-process.ts';
import { tmpdir } from 'node:os';
import { untilAborted } from '../core/until-aborted.ts';
import type { Clock } from '../core/clock.ts';
import type { OpenBlob } from './blob-store.ts';
import type { Random } from '../core/random.ts';

/** This file would not become a PDF: it is broken, no document, or takes too long. */
export class PreviewFailedError extends ReinsError {}

/** Enough wait for a converter already. */
export class PreviewBusyError extends ReinsError {}

export interface PdfPreview {
  /** The PDF of a document. @throws PreviewFailedError, PreviewBusyError */
  convert(document: OpenBlob, filename: string, signal: AbortSignal): Promise<OpenBlob>;
}

export interface PdfPreviewOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Name or path of LibreOffice; absent: `soffice` or `libreoffice` as found. */
  readonly converter?: string;
  /** How it is started so that it writes its folder alone and speaks to nobody; null: nothing can confine it here. */
  readonly confine?: (program: ConverterProgram) => Promise<ConverterProgram | null>;
}

export interface ConverterProgram {
  readonly program: string;
  readonly args: readonly string[];
  /** The folder that it may write; absolute. */
  readonly cwd: string;
}

const convertWithinMs = 60_000;
const waitingMost = 16;

/** Previews by an installed LibreOffice (U-407); null where there is none. @throws ConfigurationError  It is named, and not there. */
export function openPdfPreview(options: PdfPreviewOptions): PdfPreview | null {
  const { clock, random, environment, converter, confine = async () => null } = options;
  const names = converter === undefined ? ['soffice', 'libreoffice'] : [converter];
  const found = names.map((name) => findConverter(name, environment['PATH'])).find((path) => path !== null);
  const program = found ?? null;
  if (program === null) {
    if (converter === undefined) return null;
    throw new ConfigurationError(`The converter '${converter}' of 'files.converter' is no program of this machine.`);
  }
  const path: string = program;
  let waiting = 0;
  let last: Promise<unknown> = Promise.resolve();
  return {
    async convert(document, filename, signal) {
      if (waiting === waitingMost) throw new PreviewBusyError('Too many documents wait for the converter.');
      const turn = last;
      const { promise: over, resolve: leave } = Promise.withResolvers<void>();
      last = turn.then(() => over);
      waiting += 1;
      try {
        await untilAborted(turn, signal).finally(() => (waiting -= 1));
        return await convertNow(document, filename, signal);
      } finally {
        leave();
      }
    },
  };

  async function convertNow(document: OpenBlob, filename: string, signal: AbortSignal): Promise<OpenBlob> {
    const folder = await mkdtemp(join(await realpath(tmpdir()), 'reins-preview-'));
    try {
      // The name is ours: that of a hostile file is no argument of a program.
      const input = join(folder, `document${/^\.[a-z0-9]{1,8}$/i.exec(extname(filename))?.[0] ?? ''}`);
      await writeFile(input, document.stream());
      // A profile of its own: two conversions at once, and what a document does to one, stay apart.
      const profile = `-env:UserInstallation=file://${folder}/profile`;
      const args = [
        profile,
        '--headless',
        '--norestore',
        '--convert-to',
        'pdf',
        '--outdir',
        join(folder, 'out'),
        input,
      ];
      const plain = { program: path, args, cwd: folder };
      await runProcess({
        ...((await confine(plain)) ?? plain),
        env: { PATH: environment['PATH'], HOME: folder, LANG: 'C.UTF-8' },
        marker: `reins-preview-${random.token()}`,
        clock,
        signal,
        timeoutMs: convertWithinMs,
        graceMs: 500,
        onOutput: () => {},
      });
      return await blobOfHandle(await openPdf(join(folder, 'out', 'document.pdf')));
    } finally {
      // An open file stays readable when its folder is gone.
      await rm(folder, { recursive: true, force: true });
    }
  }
}

function findConverter(name: string, path: string | undefined): string | null {
  return isAbsolute(name) ? findProgram(basename(name), dirname(name)) : findProgram(name, path);
}

/** @param path  Without links, as long as the converter has made none. */
async function openPdf(path: string): Promise<FileHandle> {
  const isPlain = (await realpath(path).catch(() => null)) === path && (await lstat(path)).isFile();
  const pdf = isPlain ? await open(path, 'r') : null;
  if (pdf === null) throw new PreviewFailedError('The converter made no PDF.');
  const { buffer } = await pdf.read(Buffer.alloc(5), 0, 5, 0);
  if (buffer.toString('latin1') === '%PDF-') return pdf;
  await pdf.close();
  throw new PreviewFailedError('The converter made something that is no PDF.');
}
