// Pictures of the page for the documentation: `node scripts/screenshots.js [FOLDER]`, by default into `docs/images`. A real
// server with the real engine, whose model is a script: what it calls is really done, in a folder of its own.

import { execFileSync } from 'node:child_process';
import { chromium } from 'playwright-core';
import { createServer } from '../src/compose.ts';
import { loadConfig } from '../src/config.ts';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { silentLogger } from '../src/core/logger.ts';
import { startModelServer } from '../src/testing/model-servers/model-server.ts';
import { fileURLToPath } from 'node:url';
import { join } from 'node:path';
import { tmpdir } from 'node:os';

const root = fileURLToPath(new URL('..', import.meta.url));
const pictures = process.argv[2] ?? join(root, 'docs/images');
const key = 'a-key-for-pictures-only';
const question =
  'The Sunday import counted some rows twice. Find out why, fix it, and leave a short report with a chart.';

const importSource = `// Rows that arrived since the last run.
export function rowsOfRun(rows, lastRun, now) {
  return rows.filter(({ at }) => at >= lastRun && at <= now);
}
`;
const testSource = `import { rowsOfRun } from '../src/import.js';
import assert from 'node:assert';
import test from 'node:test';

test('a row at the border of two runs counts once', () => {
  const rows = [{ at: 1 }, { at: 2 }, { at: 3 }];
  const [first, second] = [rowsOfRun(rows, 1, 2), rowsOfRun(rows, 2, 4)];
  assert.strictEqual(first.length + second.length, rows.length);
});
`;
const report = `# Rows counted twice

Both runs counted the rows of 03:00:00. 212 rows of four Sundays are affected.
`;
const answer = `Rows that arrive **exactly at a border** were taken by the run before it *and* by the run after it. On Sundays
the weekly file comes at 03:00:00 sharp, which is such a border.

\`\`\`js
return rows.filter(({ at }) => at >= lastRun && at < now);
\`\`\`

| Sunday | counted | real | twice |
|---|--:|--:|--:|
| 1 November | 8,412 | 8,361 | 51 |
| 8 November | 8,530 | 8,477 | 53 |
| 15 November | 8,391 | 8,338 | 53 |
| 22 November | 8,604 | 8,549 | 55 |

![Rows of each day](rows-per-day.png)

- A test holds the border now, and passes.
- \`report.md\` has the list of affected days; **nothing was deleted** in the database. Shall I prepare a script for that?
`;

const steps = ['Find where rows are chosen', 'Fix the window', 'Hold it with a test', 'Write the report'];
const todos = (done) =>
  call('write_todos', {
    todos: steps.map((content, at) => ({
      content,
      status: at < done ? 'completed' : at === done ? 'in_progress' : 'pending',
    })),
  });

/** The replies of one run, in order. `held`: the model says no more until the pictures of it are taken. */
function replies(chart) {
  return [
    [
      thought('Two runs that overlap would do this. I look at how the window of a run is chosen, then at the dates.'),
      said('I look at how a run chooses its rows.'),
      todos(0),
      call('grep', { pattern: 'lastRun' }),
      call('read_file', { path: 'src/import.js' }),
    ],
    [
      thought('`>= lastRun` and `<= now`: a row at the border is in both runs.'),
      said('Both ends of the window are taken in, so a row at the border is counted by two runs. I fix that '),
      said('and hold it with a test.'),
      todos(1),
      call('edit_file', { path: 'src/import.js', old: 'at <= now', new: 'at < now' }),
      call('write_file', { path: 'test/import.test.js', content: testSource }),
    ],
    [
      thought('Now the test has to pass.'),
      todos(2),
      { kind: 'pause', ms: 1 },
      call('bash', { command: 'node --test' }),
    ],
    [
      said('The test passes.'),
      todos(3),
      call('write_file', { path: 'report.md', content: report }),
      call('bash', { command: `base64 -d > rows-per-day.png <<'END'\n${chart}\nEND` }),
      todos(4),
    ],
    [said(answer)],
  ];
}

let calls = 0;
function call(name, input) {
  return { kind: 'tool-call', id: `toolu_${calls++}`, name, arguments: [JSON.stringify(input)] };
}
function thought(text) {
  return { kind: 'thinking', chunks: [text] };
}
function said(text) {
  return { kind: 'text', chunks: [text] };
}

/** Which reply is next. Each session here is of one turn. */
function positionIn({ messages }) {
  const { content } = messages.find(({ role }) => role === 'user');
  const text = typeof content === 'string' ? content : content.map((part) => part.text ?? '').join('');
  return { text, round: messages.filter(({ role }) => role === 'assistant').length };
}

function createGate() {
  let open = () => {};
  return { now: () => 0, open: () => open(), timer: (_ms, callback) => ((open = callback), () => {}) };
}

async function startPlace(chart) {
  const data = mkdtempSync(join(tmpdir(), 'reins-pictures-'));
  const template = join(data, 'project');
  for (const folder of ['src', 'test']) mkdirSync(join(template, folder), { recursive: true });
  writeFileSync(join(template, 'src/import.js'), importSource);
  writeFileSync(join(template, 'package.json'), '{ "type": "module" }\n');
  const gate = createGate();
  const script = replies(chart);
  const model = await startModelServer(
    'anthropic',
    ({ body }) => {
      const { text, round } = positionIn(body);
      if (text.startsWith('Why is the staging')) return { fault: { kind: 'status', status: 401 } };
      if (text.startsWith('Tidy')) return { pieces: [call('bash', { command: 'git branch --merged' })] };
      const pieces = text.startsWith('The Sunday') ? script[Math.min(round, script.length - 1)] : [said('It is done.')];
      return { pieces, usage: { inputTokens: 2_150 + 900 * round, outputTokens: 180 } };
    },
    { clock: gate },
  );
  const config = loadConfig({
    flags: { data, port: '0' },
    env: { REINS_API_KEY: key, ANTHROPIC_BASE_URL: model.baseURL, ANTHROPIC_API_KEY: 'none' },
    readFile: () =>
      JSON.stringify({
        agent: { template, shell: { kind: 'host', network: 'full' } },
        approvals: { toolPermissions: { bash: 'ask' } },
        models: { default: 'claude-opus-4.6' },
        limits: { drainSeconds: 0 },
      }),
  });
  const server = await createServer(config, { logger: silentLogger });
  const { url } = await server.listen();
  const close = async () => {
    await server.close();
    await model.close();
    rmSync(data, { recursive: true, force: true });
  };
  return { url, gate, close };
}

/** What was there before. */
async function fill(url) {
  const asked = [
    'Compare the two quotes and say which one is cheaper over three years',
    'Why is the staging deployment red?',
    'Summarise the minutes of the architecture round',
    'Translate the release notes into German',
    'Tidy up the branches that were merged',
  ];
  for (const input of asked) {
    const background = input.startsWith('Tidy');
    await fetch(`${url}/v1/responses`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ input, background }),
    });
  }
}

async function openPage(browser, { url, ...options }) {
  const context = await browser.newContext({
    viewport: { width: 1280, height: 800 },
    reducedMotion: 'reduce',
    ...options,
  });
  await context.request.post(`${url}/v1/reins/console/session`, { headers: { Origin: url }, data: { key } });
  const page = await context.newPage();
  await page.goto(options.at ?? url);
  await page.getByRole('textbox', { name: 'Message' }).waitFor();
  return page;
}

async function take(page, name) {
  // Drawn, with all that comes a moment later.
  await page.waitForTimeout(400);
  await page.screenshot({ path: join(pictures, `${name}.png`) });
}

const chartScript = `(() => {
  const canvas = Object.assign(document.createElement('canvas'), { width: 640, height: 240 });
  const pen = canvas.getContext('2d');
  pen.fillStyle = '#fff';
  pen.fillRect(0, 0, 640, 240);
  for (let day = 0; day < 28; day++) {
    const height = 110 + 40 * Math.sin(day * 1.3) + (day % 7 === 6 ? 60 : 0);
    pen.fillStyle = day % 7 === 6 ? '#a82323' : '#1b6047';
    pen.fillRect(16 + day * 22, 224 - height, 16, height);
  }
  return canvas.toDataURL('image/png').split(',')[1];
})()`;

function chromiumPath() {
  const names = ['chromium', 'chromium-browser', 'google-chrome'];
  const look = `command -v ${names.join(' || command -v ')}`;
  return process.env.REINS_CHROMIUM ?? execFileSync('sh', ['-c', look], { encoding: 'utf8' }).trim();
}

mkdirSync(pictures, { recursive: true });
execFileSync(process.execPath, [join(root, 'scripts/build-console.js'), '--if-stale'], { stdio: 'inherit' });
const browser = await chromium.launch({ executablePath: chromiumPath(), args: ['--no-sandbox'] });
const drawing = await browser.newPage();
const place = await startPlace(await drawing.evaluate(chartScript));
try {
  await fill(place.url);
  const page = await openPage(browser, { url: place.url, colorScheme: 'light' });
  await take(page, 'console-empty');
  await page.getByRole('textbox', { name: 'Message' }).fill(question);
  await page.keyboard.press('Enter');
  await page.getByText('Now the test has to pass.').waitFor();
  await page.locator('.tool-toggle').last().click();
  await take(page, 'console-running');
  place.gate.open();
  await page.getByRole('button', { name: 'Always allow…' }).click();
  await take(page, 'console-approval');
  await page.getByRole('button', { name: 'Always allow bash with any arguments in this session' }).click();
  await page.locator('.turn-foot').waitFor();
  await page.getByRole('button', { name: /^Files/ }).click();
  await page
    .getByRole('button', { name: 'Jump to latest' })
    .click({ timeout: 1_000 })
    .catch(() => null);
  await take(page, 'console-finished');
  const at = page.url();
  const dark = await openPage(browser, { url: place.url, at, colorScheme: 'dark' });
  await dark.locator('.row-end').waitFor();
  await take(dark, 'console-dark');
  const phone = await openPage(browser, {
    url: place.url,
    at,
    viewport: { width: 390, height: 844 },
    colorScheme: 'light',
  });
  await phone.locator('.row-end').waitFor();
  await take(phone, 'console-phone');
} finally {
  await browser.close();
  await place.close();
}
