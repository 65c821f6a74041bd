// Texts as models write them.

export function cut(text: string, into: number): readonly string[] {
  const length = Math.ceil(text.length / into);
  return Array.from({ length: into }, (_, at) => text.slice(at * length, (at + 1) * length));
}

export function codeLines(units: number): string {
  const line = (at: number) => `export const value${at} = compute(${at}, 'a text', { deep: [${at}] });\n`;
  return Array.from({ length: Math.ceil(units / 60) }, (_, at) => line(at))
    .join('')
    .slice(0, units);
}

/** What models write: headings, prose with code and links, lists, tables, code. */
export function answer(units: number): string {
  const section = (at: number) => `## Step ${at}: the *reader* and its \`cursor\`

The reader keeps **one position** and asks for what comes after it; see [the notes](https://docs.example/${at}) for why. A line
of prose goes on for a while, names \`some_function()\` and \`another.one\`, and ends _here_.

- first, the \`log\` is opened
- then each **batch** is read:
  1. one by one
  2. until none is left
- last, it is closed

| name | meaning | default |
|---|---|--:|
| \`a${at}\` | the first of them | ${at} |
| \`b${at}\` | the second | ${at * 2} |

\`\`\`ts
${codeLines(600)}
\`\`\`

> What was said is kept.

`;
  let text = '';
  for (let at = 1; text.length < units; at++) text += section(at);
  return text.slice(0, units);
}
