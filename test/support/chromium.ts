// A real browser for tests: the Chromium of this machine, driven by playwright-core. Where there is none, its tests are
// skipped and say so; with REINS_REQUIRE_CHROMIUM=1 they fail instead.

import { accessSync, constants } from 'node:fs';
import { chromium, type Browser } from 'playwright-core';
import { delimiter, join } from 'node:path';
import { afterAll, describe } from 'vitest';

const names = ['chromium', 'chromium-browser', 'google-chrome'];

/** Null: this machine has none. */
export const chromiumPath: string | null = findChromium();

/** A suite in a browser, which the whole file shares; contexts are its own to open and to close. */
export function describeInChromium(name: string, suite: (browser: () => Promise<Browser>) => void): void {
  const isRequired = process.env['REINS_REQUIRE_CHROMIUM'] === '1';
  const title = chromiumPath === null && !isRequired ? `${name} (skipped: no Chromium on this machine)` : name;
  describe.skipIf(chromiumPath === null && !isRequired)(title, () => {
    let launched: Promise<Browser> | null = null;
    afterAll(async () => (await launched)?.close());
    suite(() => (launched ??= launch()));
  });
}

function launch(): Promise<Browser> {
  if (chromiumPath === null)
    throw new Error('REINS_REQUIRE_CHROMIUM is set, and there is no Chromium on this machine.');
  // Its own sandbox wants what containers do not give; what is opened here are pages of our own.
  return chromium.launch({ executablePath: chromiumPath, args: ['--no-sandbox', '--disable-dev-shm-usage'] });
}

function findChromium(): string | null {
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  const candidates = names.flatMap((name) => folders.map((folder) => join(folder, name)));
  return [process.env['REINS_CHROMIUM'] ?? '', ...candidates].find(isProgram) ?? null;
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return path !== '';
  } catch {
    return false;
  }
}
