import { expect, test } from 'vitest';
import { toolBits } from './tool-bits.ts';
import { toolSummary } from './tool-summary.ts';
import { toolKindOf, usesFiles } from './tool-kind.ts';
import type { JsonValue } from '../core/json.ts';

const bits = (name: string, input: JsonValue, content: string, fileBytes?: number) =>
  toolBits({ name, input, content, fileBytes });

test('A-054: each kind of tool tells path, counts and status, and no body', () => {
  expect(bits('read_file', { path: 'a.txt' }, 'öne\ntwo\n')).toBe('a.txt · 2 lines · 9 B');
  const cut = 'x\n[Lines 1 to 1 of 9. Go on with offset 2.]';
  expect(bits('read_file', { path: 'a.txt' }, cut)).toBe('a.txt truncated · 1 lines · 1 B');
  expect(bits('list_files', { path: 'src' }, 'a.ts\nb/')).toBe('src: 2 entries — a.ts, b/');
  expect(bits('list_files', {}, '[The folder is empty.]')).toBe('.: 0 entries');
  expect(bits('ls', { path: '.' }, 'long-name-of-a-file\n'.repeat(10))).toBe('.: 10 entries');
  expect(bits('write_file', { path: 'a.txt', content: 'öx' }, 'Created "a.txt" (3 bytes).')).toBe(
    'a.txt · 3 B written',
  );
  expect(bits('edit_file', { path: 'a' }, 'Replaced 2 places in "a".', 30)).toBe('a · 2 replacements · 30 B');
  expect(bits('Edit', { file_path: 'a' }, 'ok')).toBe('a · 1 replacement');
  expect(bits('bash', { command: 'ls -l\nrm x' }, 'a\nb')).toBe('ls -l · exit=0 · stdout 2L');
  expect(bits('bash', { command: 'true' }, '[No output.]')).toBe('true · exit=0 · stdout 0L');
  const page = 'https://example.com/a\nStatus: 200 (text/html)\n\nbody';
  expect(bits('fetch_url', { url: 'https://example.com/a' }, page)).toBe(
    `https://example.com/a → 200 · ${page.length} B`,
  );
});

test('A-054: what a runtime puts around a file is not counted, and what it leaves out is said', () => {
  const reminder = '\n\n<system-reminder>Be good.</system-reminder>';
  expect(bits('Read', { file_path: 'a' }, `     1→öne\n     2→two${reminder}`)).toBe('a · 2 lines · 8 B');
  // The numbers of another tool's lines are the file's own.
  expect(bits('read', { path: 'a' }, '1\ta\n2\tb')).toBe('a · 2 lines · 7 B');
  const wrapped =
    '<path>/w/a</path>\n<type>file</type>\n<content>\n1: öne\n2: two\n\n(End of file - total 2 lines)\n</content>';
  expect(bits('read', { filePath: 'a' }, wrapped)).toBe('a · 2 lines · 8 B');
  const part = '<file>\n00001| one\n\n(File has more lines. Use offset.)\n</file>';
  expect(bits('read', { filePath: 'a' }, part)).toBe('a truncated · 1 lines · 3 B');
  const rest = 'one\n\n[4 more lines in file. Use offset=2 to continue.]';
  expect(bits('read', { path: 'a' }, rest)).toBe('a truncated · 1 lines · 3 B');
});

test('A-054: changes are counted by what their tool says, or by what it was asked for', () => {
  const path = 'a';
  expect(bits('Edit', { file_path: path, replace_all: true }, 'All occurrences were replaced.')).toBe(
    'a · all replaced',
  );
  expect(bits('replace', { file_path: path }, 'Modified file: a (2 replacements).')).toBe('a · 2 replacements');
  expect(bits('MultiEdit', { file_path: path, edits: [{}, {}, {}] }, 'Done.')).toBe('a · 3 replacements');
  const added = { path: 'b', kind: { type: 'add' }, diff: 'öne\n' };
  const changed = { path, kind: { type: 'update' }, diff: '@@ -1 +1 @@\n-1\n+2\n@@ -9 +9 @@\n-1\n+2\n' };
  expect(bits('apply_patch', { path, changes: [changed] }, '')).toBe('a · 2 replacements');
  expect(bits('apply_patch', { path: 'b', changes: [added] }, '')).toBe('b · 5 B written');
  expect(bits('apply_patch', { paths: 'a, b', changes: [changed, added] }, '')).toBe('a, b · 2 replacements');
});

test('A-054: a command is told without the shell around it, and lines of output without a word for none', () => {
  const command = (given: string, content = 'x') => bits('exec_command', { command: given }, content);
  expect(command(`/bin/bash -lc 'echo '\\''a'\\'' b'`)).toBe("echo 'a' b · exit=0 · stdout 1L");
  expect(command('/bin/bash -lc "printf \\"%s\\" \\$x"')).toBe('printf "%s" $x · exit=0 · stdout 1L');
  expect(command('sh -c ls')).toBe('ls · exit=0 · stdout 1L');
  expect(command('bash script.sh')).toBe('bash script.sh · exit=0 · stdout 1L');
  for (const none of ['', '(no output)', '(Bash completed with no output)', '[No output.]'])
    expect(command('true', none)).toBe('true · exit=0 · stdout 0L');
});

test('A-054: entries of a folder are counted without what a runtime says of them', () => {
  const listed = 'Directory listing for /w/src:\n[DIR] lib\na.ts\n\n(2 ignored)';
  expect(bits('list_directory', { dir_path: 'src' }, listed)).toBe('src: 2 entries — lib, a.ts');
  expect(bits('ls', {}, '(empty directory)')).toBe('.: 0 entries');
});

test('A-054: a call that failed tells its first line, whatever tool it was of', () => {
  const failed = { name: 'bash', isError: true, input: { command: 'ls' }, content: 'no  such\tfile\n[Exit code 2.]' };
  expect(toolSummary(failed)).toBe('bash · ✗ failed · no such file');
});

test('A-054: of a tool that nobody knows, and where no arguments are known, the text has to do', () => {
  expect(bits('clock', { path: 'a' }, 'x')).toBeNull();
  expect(toolBits({ name: 'read_file', content: 'x' })).toBeNull();
  expect(toolSummary({ name: 'read_file', isError: false, content: 'one\ntwo' })).toBe(
    'read_file · ✓ ok · 2 lines · 7 B · one',
  );
});

test('A-054: no summary is longer than 320 characters', () => {
  const input = { path: 'p'.repeat(500), command: 'c'.repeat(500), url: `https://${'u'.repeat(500)}` };
  for (const name of ['read_file', 'list_files', 'write_file', 'edit_file', 'bash', 'fetch_url'])
    expect(toolSummary({ name, isError: false, input, content: 'x' }).length).toBeLessThanOrEqual(320);
});

test('A-016: a tool is known by the names that it has with any harness', () => {
  expect(['read_file', 'Read', 'readFile', 'Bash', 'apply_patch'].every(usesFiles)).toBe(true);
  expect(['fetch_url', 'WebFetch', 'update_todos', 'mcp__files__tell', 'constructor'].some(usesFiles)).toBe(false);
  expect(toolKindOf('exec_command')).toBe('command');
});
