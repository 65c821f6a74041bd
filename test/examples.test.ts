import { execFile } from 'node:child_process';
import { globSync } from 'node:fs';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';

const run = promisify(execFile);
async function play(name: string): Promise<string> {
  const env = { ...process.env, REINS_DEMO_SPEED: 'full' };
  return (await run(process.execPath, [`examples/${name}.ts`], { env })).stdout;
}

const outputs: Readonly<Record<string, string | RegExp>> = {
  'stream-text': '1\n2\n3\n4\n5\n',
  'answer-restarted': `on the screen: Let me look. It is gr
[transient-error: back to what is kept]
on the screen: Let me look. It is blue.
the answer:    It is blue.
`,
  'stream-events': /^> calling read_file\(\{"path":"LICENSE"\}\)\n- .+\n- .+\ncompleted after 2 steps$/m,
  'tool-calls': `[writing a call to save …]
    {"path":"report.md",
    "content":"A long${' '}
    report, written${' '}
    piece by piece."}
[running save]
[it says: 38 characters in report.md]
Saved.
`,
  'stop-early': '1\n2\n[cancelled]\n',
  progress: /^(\[still waiting on the retry: 0\.\d s\]\n)+(\[still waiting on the model: 0\.\d s\]\n)+At last\.\n$/,
  todos: '[0/3] Read the code\n[1/3] Write the test\n[2/3] Mend the bug\n[3/3] all done\nIt is mended.\n',
  approvals: `may it call write_file({"path":"a.txt","content":"A"})? no
completed; files: none
waits for a word on write_file
Done. files: a.txt
`,
  fallbacks: /^\[openai-compatible\/qwen3 → demo: .+\]\nhere I am, says demo; fallback: true\n$/,
  'structured-output': "{ city: 'Bern', people: 137000 }\n",
  'sub-agent': `agent: calls delegate_reader
reader: Keep the notice.
agent: It asks you to keep the notice.
answer: It asks you to keep the notice.
`,
  'server-in-process': /"3"/,
  'harness-agent': `asks for: write_file
says: The file note.txt is written.
file: kept
`,
  'client-resume': `seen so far: "1\\n2\\n3\\n"
then: "4\\n"
then: "5"
completed: "1\\n2\\n3\\n4\\n5"
`,
  'durable-resume': `awaiting-input: write_file
allowed, in another process: write_file({"path":"note.txt","content":"kept"})
[run-started]
[tool-result]
completed kept
true
`,
};

describe.concurrent('an example shows what it says', () => {
  for (const [name, expected] of Object.entries(outputs))
    test(`examples/${name}`, async () => {
      const output = await play(name);
      if (typeof expected === 'string') expect(output).toBe(expected);
      else expect(output).toMatch(expected);
    });
});

test('every example is played', () => {
  const names = globSync('examples/*.ts').map((path) => path.slice('examples/'.length, -'.ts'.length));
  expect(names.filter((name) => !(name in outputs))).toEqual([]);
});
