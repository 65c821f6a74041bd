// A process that works on what Temporal starts, and says what that costs it by its own count. Arguments: the SQLite file, the
// address of Temporal.

import { cpuMicros } from './server-link.ts';
import { createStepRuntime } from './step-runtime.ts';
import { openSqlite } from '../src/stores/sqlite/open-sqlite.ts';
import { temporal } from '../src/temporal.ts';

const [, , path = '', address = ''] = process.argv;
createStepRuntime(temporal({ store: openSqlite(path), address }));
process.on('message', () => process.send?.(cpuMicros()));
process.on('disconnect', () => process.exit());
