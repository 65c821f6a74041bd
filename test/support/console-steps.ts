// What a person does with the console page, by roles and names, and what they see.

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { expect } from 'vitest';
import type { Locator, Page } from 'playwright-core';

export const message = (page: Page): Locator => page.getByRole('textbox', { name: 'Message', exact: true });
export const log = (page: Page): Locator => page.getByRole('log', { name: 'Conversation' });
export const button = (page: Page, name: string | RegExp): Locator => page.getByRole('button', { name, exact: true });

export async function send(page: Page, text: string): Promise<void> {
  await message(page).fill(text);
  await page.keyboard.press('Enter');
}

/** Waits until the conversation has this text. */
export const sees = (page: Page, text: string | RegExp): Promise<void> => log(page).getByText(text).first().waitFor();

export const finished = 'Turn ended · model finished';
export const stopped = 'Turn ended · you stopped';

/** Waits for so many end lines, and that there are no more. */
export async function ends(page: Page, count: number, line: string | RegExp = /^Turn ended · /): Promise<void> {
  await expect.poll(() => log(page).getByText(line).count(), { timeout: 15_000 }).toBe(count);
}

/** What is said in the conversation, in order: questions, answers, cards, lines; no thinking. */
export function shown(page: Page): Promise<readonly string[]> {
  return page.evaluate(`[...document.querySelectorAll('[role=log] .row')]
    .filter((row) => !row.matches('.row-thinking'))
    .map((row) => (row.querySelector('.user-text, .markdown, .tool-title, p') ?? row).textContent.trim())`);
}

export function hasFocus(page: Page): Promise<boolean> {
  return page.evaluate(`document.activeElement?.getAttribute('aria-label') === 'Message'`);
}

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

interface Finding {
  readonly id: string;
  readonly impact: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[];
}

/** C-090: no serious finding of axe, as the page stands. */
export async function expectAccessible(page: Page): Promise<void> {
  await page.evaluate(`if (typeof axe === 'undefined') { ${axe} }`);
  const findings: readonly Finding[] = await page.evaluate(
    `axe.run({ resultTypes: ['violations'] }).then(({ violations }) => violations)`,
  );
  const serious = findings.filter(({ impact }) => impact === 'serious' || impact === 'critical');
  expect(
    serious.flatMap(({ id, nodes }) =>
      nodes.map(({ html, failureSummary }) => `${id}: ${html.slice(0, 200)} ${failureSummary}`),
    ),
  ).toEqual([]);
}
