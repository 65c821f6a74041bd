// Markdown of the console in a real browser, under the console's policy (C-060…C-064, C-090 items 10, 11, 16).

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Page } from 'playwright-core';
import { servePage, type ServedPage } from '../bench/page/serve-page.ts';
import { attackTexts } from './support/attack-texts.ts';
import { describeInChromium } from './support/chromium.ts';
import { openConsolePage, type ConsolePage } from './support/console-page.ts';

/** Calls what the page offers on `window.stage`. */
const call = <T>(page: Page, verb: string, ...args: readonly unknown[]) =>
  page.evaluate<T>(`stage.${verb}(${args.map((each) => JSON.stringify(each)).join()})`);
const stream = (page: Page, pieces: readonly string[]) => call<string>(page, 'stream', pieces);

const lines = (count: number) => Array.from({ length: count }, (_, at) => `const a${at} = ${at};`).join('\n');
const fence = (code: string) => `\`\`\`js\n${code}\n\`\`\`\n`;

function piecesOf(text: string, sizes: readonly number[]): string[] {
  const pieces: string[] = [];
  for (let at = 0, turn = 0; at < text.length; turn++) {
    const size = sizes[turn % sizes.length] ?? 1;
    pieces.push(text.slice(at, at + size));
    at += size;
  }
  return pieces;
}

/** All that does not belong into what markdown may become. */
const strangers = `
  (() => {
    const tags = new Set('P BR HR H1 H2 H3 H4 H5 H6 UL OL LI BLOCKQUOTE PRE CODE EM STRONG DEL A TABLE THEAD TBODY TR TH TD INPUT'.split(' '));
    const own = new Set('DIV SPAN BUTTON'.split(' '));
    const names = new Set('href title class align type checked disabled start rel target tabindex hidden aria-expanded aria-label'.split(' '));
    const found = [];
    for (const each of document.querySelectorAll('.markdown *')) {
      if (!tags.has(each.tagName) && !(own.has(each.tagName) && (each.matches('.markdown > div') || each.closest('.code-block, .table-frame')))) found.push(each.outerHTML);
      for (const { name, value } of each.attributes) if (!names.has(name)) found.push(name + '=' + value);
      if (each.tagName === 'A') {
        if (each.href !== '' && each.protocol !== ':' && !/^(https?|mailto):$/.test(each.protocol)) found.push(each.href);
        if (each.rel !== 'noopener noreferrer nofollow' || each.target !== '_blank') found.push(each.outerHTML);
      }
      if (each.tagName === 'INPUT' && !(each.type === 'checkbox' && each.disabled)) found.push(each.outerHTML);
    }
    return found;
  })()
`;

describeInChromium('markdown of the console', (browser) => {
  let served: ServedPage;
  let opened: ConsolePage;
  let page: Page;
  beforeAll(async () => {
    served = await servePage();
    opened = await openConsolePage(await browser(), {
      server: served,
      key: null,
      context: { viewport: { width: 800, height: 600 } },
    });
    ({ page } = opened);
    await page.evaluate('window.alerts = []; window.alert = (text) => alerts.push(text)');
  }, 60_000);
  beforeEach(() => call(page, 'clear'));
  afterAll(async () => {
    await opened[Symbol.asyncDispose]();
    await served[Symbol.asyncDispose]();
  });

  describe('C-060, C-061, C-090 (10, 11): texts that attack are text', () => {
    test('there are enough of them', () => expect(new Set(attackTexts).size).toBeGreaterThanOrEqual(60));

    test.each(attackTexts)('%j, whole and by pieces', async (text) => {
      for (const pieces of [
        [text],
        piecesOf(text, [text.length > 300 ? 97 : 1]),
        piecesOf(text, [7, 2]),
        [`${text}\n\n`, text],
      ]) {
        await stream(page, pieces);
        expect(await page.evaluate(strangers)).toEqual([]);
      }
    });

    test('after all of them, and after all of them at once, nothing ran and nothing was asked for', async () => {
      await stream(page, [attackTexts.join('\n\n')]);
      expect(await page.evaluate(strangers)).toEqual([]);
      expect(await page.evaluate('alerts')).toEqual([]);
      await opened.expectNoProblems();
    });
  });

  describe('C-063', () => {
    const samples = [
      '# Title\n\nText with *em*, **strong**, ~~del~~, `code` and a [link](https://x.example "t").\n\n',
      '[late] and [later][l] and ![img][l]\n\n',
      '[late]: https://late.example\n[l]: <https://l.example/ä> "title"\n\n',
      '- one\n- two\n\n- loose\n',
      '- a\n  - b\n    - c\n      > d\n\n      ```js\n      const e = 1;\n      ```\n- f\n\n',
      '3. three\n4. four\n\n   para\n5. five\n\n',
      '- [ ] open\n- [x] done **b**\n\n',
      'Setext\n===\n\nOther\n---\n\nnot\n--\n',
      '| a | b | c |\n|:--|:-:|--:|\n| 1 | `|` | *3* |\n| 4 | 5 |\n| [late] | x | y |\n\n',
      '<div>\n<b>html</b>-ish & text &amp; &lt;\n</div>\n\n',
      '```ts\nconst x: number = 1;\n\n```\n\n~~~\nplain ``` text\n~~~\n',
      '````md\n```js\nx\n```\n````\n',
      '```js\nnever closed\n\n- a\n',
      '    indented\n\n    code\n\n',
      '> quote\n> - list\n>\n> ```\n> code\n> ```\nlazy\n\n',
      'Emoji 👩‍👩‍👧‍👦 🇩🇪 e\u0301 \ud83d\n\n',
      'שלום **עולם** ‏[קישור](https://x.example) مرحبا\n\n',
      'hard  \nbreak\\\nhere\r\nand\rthere\n\n',
      '***\n\n___\n\n* * *\n',
      '\n\n \t\n',
      'https://auto.example/a_b_c www.x.example a@b.example <https://y.example>\n',
      '\\*not em\\* &#35; \\`x\\` ***both*** _a_b_ __c__\n',
      'word ',
      '\n',
      '-',
      '`',
      '*',
      '[',
      '|',
      '> ',
      '\t',
    ];
    const text = fc.array(
      fc.oneof({ weight: 3, arbitrary: fc.constantFrom(...samples) }, fc.string({ unit: 'grapheme', maxLength: 6 })),
      { minLength: 1, maxLength: 9 },
    );
    const sizes = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 6 });

    test('V3: streamed by any cut, it ends as the whole of it does', async () => {
      await fc.assert(
        fc.asyncProperty(text, sizes, async (parts, cuts) => {
          const whole = parts.join('');
          expect(await stream(page, piecesOf(whole, cuts))).toBe(await stream(page, [whole]));
        }),
        { numRuns: 120 },
      );
    });

    test('V3: also where what was said is taken back and said otherwise', async () => {
      await fc.assert(
        fc.asyncProperty(text, text, async (first, second) => {
          const [given, taken] = [first.join(''), second.join('')];
          await call(page, 'clear');
          await call(page, 'update', given);
          await call(page, 'update', given.slice(0, given.length / 2) + taken);
          await call(page, 'finish', taken);
          expect(await call(page, 'html')).toBe(await stream(page, [taken]));
        }),
        { numRuns: 40 },
      );
    });

    test('V1: finished blocks stay the same nodes over 60 updates and the end, those that a late link changes too', async () => {
      const before = `# A\n\npara [late] *x*\n\n- a\n- b\n\n${fence('x')}\n| a |\n|---|\n| b |\n\nlast but one\n\nlast`;
      await call(page, 'update', before);
      await call(page, 'mark');
      let said = before;
      for (let at = 0; at < 60; at++) await call(page, 'update', (said += at % 9 === 8 ? `\n\n${at} ` : ` word${at}`));
      await call(page, 'finish', `${said}\n\n[late]: https://late.example`);
      expect(await call(page, 'kept')).toBe(7);
      expect(await page.getByRole('link', { name: 'late' }).getAttribute('href')).toBe('https://late.example');
    });

    test('V1: items and rows stay the same nodes while their list or table grows', async () => {
      for (const [start, more, selector] of [
        ['- one\n- two\n', '- more\n', 'li'],
        ['| a |\n|---|\n| b |\n', '| c |\n', 'td'],
      ] as const) {
        await call(page, 'clear');
        await call(page, 'update', start);
        await page.evaluate(`window.first = document.querySelector('.markdown ${selector}')`);
        for (let said = start, at = 0; at < 20; at++) await call(page, 'update', (said += more));
        await call(page, 'finish', start + more.repeat(20));
        expect(await page.evaluate(`first === document.querySelector('.markdown ${selector}')`)).toBe(true);
      }
    });

    test('B148: of a long answer the blocks out of sight are not laid out, and can be found all the same', async () => {
      const said = Array.from({ length: 400 }, (_, at) => `para ${at}`);
      await stream(page, piecesOf(said.join('\n\n'), [500]));
      const seen = (place: string) =>
        page.evaluate<number>(`(${place}, new Promise((done) => requestAnimationFrame(() => setTimeout(done))).then(() =>
          [...document.querySelectorAll('.markdown p')].filter((each) => each.checkVisibility({ contentVisibilityAuto: true })).length))`);
      for (const place of ['scrollTo(0, document.body.scrollHeight)', 'scrollTo(0, 0)']) {
        expect(await seen(place)).toBeGreaterThan(0);
        expect(await seen(place)).toBeLessThan(200);
      }
      expect(await page.evaluate("window.find('para 399')")).toBe(true);
      expect(await page.locator('.markdown p').allTextContents()).toEqual(said);
    });

    test('what is selected stays selected: in finished text, in text that grows, in code that is coloured', async () => {
      const said = `finished text\n\n${fence('const kept = 1;')}\ngrowing text`;
      const atFence = 'finished text\n\n```js\nconst kept = 1;';
      for (const [selector, start] of [
        ['p', atFence],
        ['pre code', atFence],
        ['p:last-child', said],
      ] as const) {
        await call(page, 'clear');
        await call(page, 'update', start);
        await page.evaluate(`
          { const node = document.querySelector('.markdown ${selector}').firstChild;
            getSelection().setBaseAndExtent(node, 2, node, 7); }
        `);
        const selected = await page.evaluate<string>('String(getSelection())');
        expect(selected).toHaveLength(5);
        await call(page, 'update', `${said} and more`);
        await call(page, 'finish', `${said} and more\n\nend`);
        await page.locator('.code-keyword').waitFor();
        expect(await page.evaluate('String(getSelection())')).toBe(selected);
      }
    });

    test('an open fence grows in one text node, and is coloured only once it is closed', async () => {
      await call(page, 'update', '```js\nconst a');
      await page.evaluate("window.first = document.querySelector('pre code').firstChild");
      await call(page, 'update', '```js\nconst a = 1;\nconst b');
      expect(await page.evaluate("first === document.querySelector('pre code').firstChild && first.data")).toBe(
        'const a = 1;\nconst b',
      );
      expect(await page.locator('pre span').count()).toBe(0);
      await call(page, 'update', `${fence('const a = 1;\nconst b = 2;')}\nnext`);
      await page.locator('.code-keyword').first().waitFor();
      await page.evaluate("window.first = document.querySelector('.code-keyword')");
      await call(page, 'update', `${fence('const a = 1;\nconst b = 2;')}\nnext\n\nand next\n\nand next`);
      await call(page, 'finish', `${fence('const a = 1;\nconst b = 2;')}\nnext\n\nand next\n\nand next`);
      expect(await page.evaluate("first === document.querySelector('.code-keyword')")).toBe(true);
      expect(await page.locator('pre').textContent()).toBe('const a = 1;\nconst b = 2;');
    });

    test('code above 80 lines is folded, coloured across the fold, and unfolds', async () => {
      await stream(page, piecesOf(`${fence(lines(90))}\nend`, [50]));
      const more = page.getByRole('button', { name: 'Show 10 more lines' });
      await more.waitFor();
      await page.locator('.code-keyword').first().waitFor();
      expect(await page.locator('pre').textContent()).toBe(lines(90));
      const height = () => page.evaluate<number>("document.querySelector('pre').offsetHeight");
      const folded = await height();
      expect(await more.getAttribute('aria-expanded')).toBe('false');
      await more.click();
      expect(await height()).toBeGreaterThan(folded);
      expect(await page.getByRole('button', { name: 'Show less' }).getAttribute('aria-expanded')).toBe('true');
      await stream(page, [fence(lines(80))]);
      expect(await page.locator('.code-more').isVisible()).toBe(false);
    });

    test('code above 1,000 lines or 100 kB is never coloured', async () => {
      const tall = fence(lines(1_001));
      const wide = fence(`// ${'ä'.repeat(50_000)}`);
      await stream(page, [`${tall}\n${fence('let small')}\n${wide}\n${fence('let small')}`]);
      for (const at of [0, 1, 2, 3]) {
        await page.locator('.code-block').nth(at).scrollIntoViewIfNeeded();
        if (at % 2 === 1) await page.locator('.code-block').nth(at).locator('.code-keyword').waitFor();
      }
      const spans =
        "[...document.querySelectorAll('.code-block')].map((each) => each.querySelectorAll('pre span').length)";
      expect(await page.evaluate(spans)).toEqual([0, 1, 0, 1]);
    });
  });

  test('the button copies the code as it is, and says so', async () => {
    await opened.context.grantPermissions(['clipboard-read', 'clipboard-write']);
    await stream(page, [fence(lines(90))]);
    await page.getByRole('button', { name: 'Copy' }).click();
    await page.getByRole('button', { name: 'Copied' }).waitFor();
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(lines(90));
  });

  test('a wide table and wide code scroll in themselves', async () => {
    const cell = 'wide'.repeat(30);
    const row = `|${`${cell}|`.repeat(9)}\n`;
    await stream(page, [`${row}|${'---|'.repeat(9)}\n${row}\n${fence(cell.repeat(20))}`]);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(800);
    for (const selector of ['.table-frame', 'pre'])
      expect(
        await page.evaluate(
          `(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth)(document.querySelector('${selector}'))`,
        ),
      ).toBe(true);
  });

  test('C-090 (16): without the chunk of the colours all else works', async () => {
    await using broken = await openConsolePage(await browser(), { server: served, key: null });
    await broken.context.route('**/highlighter-*.js', (route) => route.abort());
    const failed = broken.page.waitForEvent('requestfailed');
    await stream(broken.page, [`${fence('const a = 1;')}\nend`]);
    await failed;
    await call(broken.page, 'finish', `${fence('const a = 1;')}\nend\n\n${fence('let more')}`);
    expect(await broken.page.locator('pre').allTextContents()).toEqual(['const a = 1;', 'let more']);
    expect(await broken.page.locator('pre span').count()).toBe(0);
    await broken.expectNoProblems(/ERR_FAILED/);
  });

  test.each(['light', 'dark'] as const)('axe finds nothing serious in the %s theme', async (colorScheme) => {
    await page.emulateMedia({ colorScheme });
    await stream(page, [
      `# A\n\ntext [link](https://x.example)\n\n- [x] done\n\n| a | b |\n|---|---|\n| c | d |\n\n${fence(`// note\nconst text = 'a' + 1;\n${lines(90)}`)}`,
    ]);
    await page.locator('.code-keyword').first().waitFor();
    await page.evaluate(readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8'));
    const found = await page.evaluate<{ id: string; impact: string; nodes: { html: string }[] }[]>(
      "axe.run('.markdown').then(({ violations }) => violations)",
    );
    expect(
      found
        .filter(({ impact }) => impact === 'serious' || impact === 'critical')
        .map(({ id, nodes }) => [id, nodes.map(({ html }) => html)]),
    ).toEqual([]);
  });

  test('nothing of all this broke the policy, or went to another host', () => opened.expectNoProblems());
});
