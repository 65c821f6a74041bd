import { execFileSync } from 'node:child_process';
import { chromium, type Browser } from 'playwright-core';

/** That of this machine. */
export function launchChromium(): Promise<Browser> {
  return chromium.launch({
    executablePath: chromiumPath(),
    args: ['--no-sandbox', '--disable-dev-shm-usage', '--enable-precise-memory-info', '--js-flags=--expose-gc'],
  });
}

function chromiumPath(): string {
  const names = ['chromium', 'chromium-browser', 'google-chrome'];
  const look = `command -v ${names.join(' || command -v ')}`;
  return process.env['REINS_CHROMIUM'] ?? execFileSync('sh', ['-c', look], { encoding: 'utf8' }).trim();
}
