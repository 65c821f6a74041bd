import type { Tool } from '../tool.ts';
import { editFile } from './edit-file.ts';
import { glob } from './glob.ts';
import { grep } from './grep.ts';
import { listFiles } from './list-files.ts';
import { readFile } from './read-file.ts';
import { writeFile } from './write-file.ts';

/** The tools on files of the workspace (table 9.6). */
export const fileTools: readonly Tool[] = [readFile, listFiles, glob, grep, writeFile, editFile];
