// What a call was made with, for a person (C-050).

import { collapse, shorten } from './utf8.ts';

export interface ShownArguments {
  /** A text stands as it is, all else as JSON. */
  readonly entries: readonly (readonly [string, string])[];
  /** Null: they name none. */
  readonly cwd: string | null;
}

export function argumentsOf(json: string): ShownArguments {
  const value = parsed(json);
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return { entries: [['arguments', json]], cwd: null };
  const entries = Object.entries(value);
  const cwd: unknown = entries.find(([name]) => name === 'cwd')?.[1];
  return {
    entries: entries.map(([name, each]) => [name, typeof each === 'string' ? each : JSON.stringify(each, null, 2)]),
    cwd: typeof cwd === 'string' ? cwd : null,
  };
}

const maxAskedUnits = 200;
/** What says most of a call, first of all; the names are those of the harnesses' own tools. */
const tellingNames = ['command', 'cmd', 'script', 'path', 'file_path', 'filePath', 'url', 'pattern', 'query'];

/**
 * `npm test`, `src/a.ts`: of the arguments the one that says most, else all of them that are plain; lists and objects are
 * read where the call is opened. Empty where there are none.
 */
export function askedLine(json: string): string {
  const given = argumentsOf(json).entries;
  const entries = given.filter(([, text]) => !/^[[{]\n/.test(text));
  const told = tellingNames.flatMap((name) => entries.find(([own]) => own === name)?.[1] ?? [])[0];
  const all = () => entries.map(([name, text]) => (given.length === 1 ? text : `${name}: ${head(text)}`)).join(' · ');
  return shorten(collapse(head(told ?? all())), maxAskedUnits);
}

/** What is cut off in the end need not be read for it. */
function head(text: string): string {
  return text.slice(0, maxAskedUnits * 4);
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return null;
  }
}
