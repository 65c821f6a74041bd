// Makes `npx reins` work inside the repository: npm links the commands of dependencies, never those of the package itself.
// Runs after `npm ci` (script `prepare`).

import { chmodSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const folder = `${root}node_modules/.bin`;

mkdirSync(folder, { recursive: true });
chmodSync(`${root}bin/reins.js`, 0o755);
if (process.platform === 'win32') {
  writeFileSync(`${folder}/reins.cmd`, '@node "%~dp0..\\..\\bin\\reins.js" %*\r\n');
  // What a POSIX shell has built in: `npm start` uses it, so that a signal to npm reaches the server itself.
  writeFileSync(`${folder}/exec.cmd`, '@%*\r\n');
} else {
  rmSync(`${folder}/reins`, { force: true });
  symlinkSync('../../bin/reins.js', `${folder}/reins`);
}
