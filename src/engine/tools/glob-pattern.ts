// Our own glob, because the matcher behind `path.matchesGlob` compiles to a backtracking expression: a pattern from a model
// could stop the process. Here each `*` and `**` gives back only to the last one before it, so a match is at most
// quadratic in the lengths, which are bounded.
//
// `*` and `?` within a name, `**` for any number of folders, `[a-z]`, `[!a-z]`, `{a,b}`, `\` before a literal. Names that
// begin with a dot match like others: a model that asks for all YAML files wants those of `.github` too.

import { ToolRefusal } from './tool-refusal.ts';

const many = Symbol('many');
type CharacterTest = (character: string) => boolean;
type NamePattern = readonly (CharacterTest | typeof many)[];
type PathPattern = readonly (NamePattern | typeof many)[];

const maxPatternUnits = 1000;
const maxAlternatives = 64;

/** A test for POSIX paths relative to the folder that the pattern is relative to. @throws ToolRefusal */
export function parseGlob(pattern: string): (path: string) => boolean {
  if (pattern.length > maxPatternUnits)
    throw new ToolRefusal(`The pattern is longer than ${maxPatternUnits} characters.`);
  const alternatives = expandBraces(pattern).map(parsePath);
  return (path) => {
    const names = path.split('/').map((name) => Array.from(name));
    return alternatives.some((alternative) => matches(names, alternative, matchesName));
  };
}

function matchesName(pattern: NamePattern, name: readonly string[]): boolean {
  return matches(name, pattern, (fits, character) => fits(character));
}

/** Whether the items fit the pattern, where `many` stands for any number of items. */
function matches<Item, Pattern extends object>(
  items: readonly Item[],
  pattern: readonly (Pattern | typeof many)[],
  fits: (pattern: Pattern, item: Item) => boolean,
): boolean {
  let at = 0;
  let lastMany = -1;
  let givenBack = 0;
  for (let index = 0; index < items.length;) {
    const expected = pattern[at];
    const item = items[index];
    if (expected === many) {
      lastMany = at++;
      givenBack = index;
    } else if (expected !== undefined && item !== undefined && fits(expected, item)) {
      at++;
      index++;
    } else if (lastMany >= 0) {
      at = lastMany + 1;
      index = ++givenBack;
    } else {
      return false;
    }
  }
  while (pattern[at] === many) at++;
  return at === pattern.length;
}

function parsePath(pattern: string): PathPattern {
  const names = pattern.split('/').filter((name) => name !== '.' && name !== '');
  if (pattern.startsWith('/') || names.includes('..')) {
    throw new ToolRefusal(
      "The pattern must be relative and may not hold '..'; use the argument 'path' for the folder.",
    );
  }
  // At the end `**` stands for what is in the folder, not for the folder itself.
  if (names.at(-1) === '**') names.push('*');
  return names.map((name) => (name === '**' ? many : parseName(name)));
}

function parseName(name: string): NamePattern {
  const tokens = name.match(/\\.|\[[!^]?\]?[^\]]*\]|./gsu) ?? [];
  return tokens.map((token) => {
    if (token === '*') return many;
    if (token === '?') return () => true;
    if (token.length > 2 && token.startsWith('[')) return parseSet(token.slice(1, -1));
    const literal = token.length > 1 && token.startsWith('\\') ? token.slice(1) : token;
    return (character) => character === literal;
  });
}

function parseSet(body: string): CharacterTest {
  const isNegated = body.startsWith('!') || body.startsWith('^');
  const ranges = (isNegated ? body.slice(1) : body).match(/.-.|./gsu) ?? [];
  const bounds = ranges.map((range) => Array.from(range)).map(([first = '', , last = first]) => [first, last] as const);
  return (character) => bounds.some(([first, last]) => first <= character && character <= last) !== isNegated;
}

/** `a{b,c{d,e}}` gives `ab`, `acd`, `ace`; braces without a comma, or never closed, are literal. */
function expandBraces(pattern: string): string[] {
  const done: string[] = [];
  const pending = [pattern];
  for (let text = pending.pop(); text !== undefined; text = pending.pop()) {
    const group = firstGroup(text);
    if (group === undefined) done.push(text);
    else pending.push(...group.toReversed());
    if (done.length + pending.length > maxAlternatives)
      throw new ToolRefusal(`The pattern has more than ${maxAlternatives} alternatives.`);
  }
  return done;
}

/** The text once for each alternative of its first brace group. */
function firstGroup(text: string): string[] | undefined {
  for (let open = nextOpen(text, 0); open !== -1; open = nextOpen(text, open + 1)) {
    const commas: number[] = [];
    let depth = 0;
    for (let at = open; at < text.length; at++) {
      const character = text[at];
      if (character === '\\') at++;
      else if (character === '{') depth++;
      else if (character === ',' && depth === 1) commas.push(at);
      else if (character === '}' && --depth === 0) {
        if (commas.length === 0) break;
        const cuts = [open, ...commas, at];
        return cuts
          .slice(1)
          .map((end, index) => text.slice(0, open) + text.slice((cuts[index] ?? 0) + 1, end) + text.slice(at + 1));
      }
    }
  }
  return undefined;
}

function nextOpen(text: string, from: number): number {
  for (let at = from; at < text.length; at++) {
    if (text[at] === '\\') at++;
    else if (text[at] === '{') return at;
  }
  return -1;
}
