import { basename, dirname, extname, isAbsolute, join } from 'node:path';
import { findProgram } from '../process/find-program.ts';
import { mkdtemp, open, rm, writeFile, type FileHandle } from 'node:fs/promises';
import { ConfigurationError, ReinsError } from '../core/errors.ts';
import { runProcess } from '../process/run-process.ts';
import { tmpdir } from 'node:os';
import type { Clock } from '../core/clock.ts';
import type { Random } from '../core/random.ts';

/** This file would not become a PDF: it is broken, no document, or takes too long. */
export class PreviewFailedError extends ReinsError {}

export interface PdfPreview {
  /** The PDF of a document; to be closed. @throws PreviewFailedError */
  convert(document: FileHandle, filename: string, signal: AbortSignal): Promise<FileHandle>;
}

export interface PdfPreviewOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Name or path of LibreOffice; absent: `soffice` or `libreoffice` as found. */
  readonly converter?: string;
}

const convertWithinMs = 60_000;

/** Previews by an installed LibreOffice (U-407); null where there is none. @throws ConfigurationError  It is named, and not there. */
export function openPdfPreview({ clock, random, environment, converter }: PdfPreviewOptions): PdfPreview | null {
  const names = converter === undefined ? ['soffice', 'libreoffice'] : [converter];
  const found = names.map((name) => findConverter(name, environment['PATH'])).find((path) => path !== null);
  const program = found ?? null;
  if (program === null) {
    if (converter === undefined) return null;
    throw new ConfigurationError(`The converter '${converter}' of 'files.converter' is no program of this machine.`);
  }
  const path: string = program;
  // One at a time: a converter takes as much of the machine as it gets.
  let last: Promise<unknown> = Promise.resolve();
  return {
    convert(document, filename, signal) {
      const next = last.then(() => convertNow(document, filename, signal));
      last = next.catch(() => {});
      return next;
    },
  };

  async function convertNow(document: FileHandle, filename: string, signal: AbortSignal): Promise<FileHandle> {
    signal.throwIfAborted();
    const folder = await mkdtemp(join(tmpdir(), 'reins-preview-'));
    try {
      // The name is ours: that of a hostile file is no argument of a program.
      const input = join(folder, `document${/^\.[a-z0-9]{1,8}$/i.exec(extname(filename))?.[0] ?? ''}`);
      await writeFile(input, document.createReadStream({ start: 0, autoClose: false }));
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
      await runProcess({
        program: path,
        args,
        cwd: folder,
        env: { PATH: environment['PATH'], HOME: folder, LANG: 'C.UTF-8' },
        marker: `reins-preview-${random.token()}`,
        clock,
        signal,
        timeoutMs: convertWithinMs,
        graceMs: 500,
        onOutput: () => {},
      });
      return await openPdf(join(folder, 'out', 'document.pdf'));
    } finally {
      // An open file stays readable when its folder is gone.
      await rm(folder, { recursive: true, force: true });
    }
  }
}

function findConverter(name: string, path: string | undefined): string | null {
  return isAbsolute(name) ? findProgram(basename(name), dirname(name)) : findProgram(name, path);
}

async function openPdf(path: string): Promise<FileHandle> {
  const pdf = await open(path, 'r').catch(() => null);
  if (pdf === null) throw new PreviewFailedError('The converter made no PDF.');
  const { buffer } = await pdf.read(Buffer.alloc(5), 0, 5, 0);
  if (buffer.toString('latin1') === '%PDF-') return pdf;
  await pdf.close();
  throw new PreviewFailedError('The converter made something that is no PDF.');
}
