// `node bench/engine.ts [--quick] [--profile DIR]`: the engine beside others, as `npm run bench -- --only engine`.

import { parseArgs } from 'node:util';
import { engine } from './rows/engine.ts';
import { printTable } from './table.ts';

const { values } = parseArgs({ options: { quick: { type: 'boolean', default: false }, profile: { type: 'string' } } });
const startedAt = performance.now();
printTable(await engine(values), startedAt);
