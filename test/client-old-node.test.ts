// The client runs where Reins does not: on Node 20, which has what browsers have.

import { cpSync, symlinkSync, writeFileSync } from 'node:fs';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { eventsOf, frames, replay, startStub, torn } from './support/stub-uhp.ts';
import { findOldNode } from './old-node.ts';
import { root } from './reins-process.ts';
import { temporaryFolder } from './support/folders.ts';

const run = promisify(execFile);
const old = findOldNode();
const version = old === null ? '' : (await run(old, ['--version'])).stdout.trim();
const usable = /^v2[0-3]\./.test(version);

const program = `
import { connect } from './dist/client/index.js';
const task = connect(process.argv[2], 'key', { backoffMs: 1 }).run({ input: 'x' });
let events = 0;
for await (const event of task) events++;
console.log(JSON.stringify({ events, text: (await task.result()).text, shown: task.snapshot().text }));
`;

test.skipIf(!usable)(
  `a task is read over a broken connection (${usable ? version : 'skipped: no Node 20 to 23'})`,
  async () => {
    const app = temporaryFolder();
    cpSync(join(root, 'src'), join(app, 'src'), { recursive: true });
    symlinkSync(join(root, 'node_modules'), join(app, 'node_modules'));
    cpSync(join(root, 'tsconfig.json'), join(app, 'tsconfig.json'));
    const options = { noEmit: false, outDir: 'dist', rootDir: 'src' };
    writeFileSync(
      join(app, 'client.json'),
      JSON.stringify({
        extends: './tsconfig.json',
        compilerOptions: options,
        include: [],
        files: ['src/client/index.ts'],
      }),
    );
    writeFileSync(join(app, 'package.json'), '{"type":"module"}');
    writeFileSync(join(app, 'program.js'), program);
    await run(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', 'client.json'], { cwd: app });

    const events = eventsOf('Grüße ', 'an ', 'alle');
    await using stub = await startStub({
      'POST /v1/responses': torn(frames(events.slice(0, 6))),
      'GET /v1/responses/resp_1': replay(events),
    });
    const { stdout } = await run(old ?? '', ['program.js', stub.url], { cwd: app });
    expect(JSON.parse(stdout)).toEqual({ events: events.length, text: 'Grüße an alle', shown: 'Grüße an alle' });
  },
);
