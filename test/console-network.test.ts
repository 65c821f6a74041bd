// The console page while the network and the server come and go, in a real browser (C-039, C-040, C-090 items 4, 5, 12).

import { freePort } from './support/free-port.ts';
import { describeInChromium } from './support/chromium.ts';
import { createGate, hold, reply, startModel, text } from './support/model.ts';
import { ends, finished, sees, send, shown } from './support/console-steps.ts';
import { ensureConsoleBuilt } from './support/console-build.ts';
import { connectTo, key } from './support/uhp.ts';
import { expect, test } from 'vitest';
import { join } from 'node:path';
import { openConsolePage, startConsoleServer } from './support/console-page.ts';
import { startReins } from './reins-process.ts';
import { temporaryFolder } from './support/folders.ts';
import { writeFile } from 'node:fs/promises';

const held = [reply(text('Now '), hold, text('it is done.'))];
const rows = ['held', 'Now it is done.', finished];

async function startHeld() {
  const gate = createGate();
  const model = await startModel((asked) => (asked.startsWith('held') ? held : undefined), gate);
  return { gate, model };
}

describeInChromium('C-039: the page and the network', (browser) => {
  test('B150: offline and back: the agent goes on, and so does the page', async () => {
    const { gate, model } = await startHeld();
    await using _model = model;
    await using server = await startConsoleServer({ model });
    await using opened = await openConsolePage(await browser(), { server });
    const { page, context } = opened;
    await send(page, 'held');
    await sees(page, 'Now');
    await context.setOffline(true);
    await page.getByText('Offline · the agent goes on').waitFor();
    gate.open();
    await context.setOffline(false);
    await ends(page, 1, finished);
    expect(await shown(page)).toEqual(rows);
    await opened.expectNoProblems(/net::ERR_INTERNET_DISCONNECTED/);
  });

  test('B150: a server that is restarted in order under an open page', async () => {
    const { gate, model } = await startHeld();
    await using _model = model;
    await using server = await startConsoleServer({ model });
    await using opened = await openConsolePage(await browser(), { server });
    const { page } = opened;
    await send(page, 'held');
    await sees(page, 'Now');
    await server.restart();
    gate.open();
    await ends(page, 1, finished);
    expect(await shown(page)).toEqual(rows);
    await opened.expectNoProblems(/ERR_CONNECTION|ERR_INCOMPLETE|ERR_EMPTY_RESPONSE|503/);
  });

  test('B150: a server that is killed and started again under an open page', async () => {
    const { gate, model } = await startHeld();
    await using _model = model;
    await ensureConsoleBuilt();
    const [data, port] = [temporaryFolder(), String(await freePort())];
    await writeFile(join(data, 'config.json'), JSON.stringify(model.settings));
    const env = { ...model.env, REINS_API_KEY: key };
    const start = async () => {
      const process = startReins(['serve', '--data', data, '--port', port], { env });
      await process.saw('reins listening on');
      return process;
    };
    const first = await start();
    const server = { url: `http://127.0.0.1:${port}` };
    await using opened = await openConsolePage(await browser(), { server });
    const { page } = opened;
    await send(page, 'held');
    await sees(page, 'Now');
    first.child.kill('SIGKILL');
    await first.ended;
    await page.getByText('Reconnecting…').first().waitFor();
    const tryNow = page.getByRole('button', { name: 'Try now' });
    await page
      .getByText(/Reconnecting… · next try in \d+ s/)
      .first()
      .waitFor();
    await tryNow.waitFor();
    gate.open();
    await start();
    await tryNow.click({ timeout: 1_000 }).catch(() => {});
    await ends(page, 1, finished);
    expect(await shown(page)).toEqual(rows);
    const { body } = await connectTo(server.url).send('GET', '/v1/sessions');
    expect(body['sessions']).toHaveLength(1);
    await opened.expectNoProblems(/ERR_CONNECTION|ERR_INCOMPLETE|ERR_EMPTY_RESPONSE|503/);
  });

  test('item 5, C-040: eight tabs with a turn each all load and all reach their end; one that is closed stops nothing', async () => {
    const { gate, model } = await startHeld();
    await using _model = model;
    await using server = await startConsoleServer({ model });
    await using opened = await openConsolePage(await browser(), { server });
    const tabs = [opened.page];
    while (tabs.length < 8) tabs.push(await opened.newTab());
    for (const [at, tab] of tabs.entries()) {
      await tab.bringToFront();
      await send(tab, `held ${at}`);
      await expect.poll(() => new URL(tab.url()).pathname).not.toBe('/');
    }
    const [closed, ...others] = tabs;
    await closed?.close();
    gate.open();
    for (const [at, tab] of others.entries()) {
      await ends(tab, 1, finished);
      expect(await shown(tab)).toEqual([`held ${at + 1}`, 'Now it is done.', finished]);
    }
    const { body } = await server.uhp.send('GET', '/v1/sessions');
    const sessions = body['sessions'] as readonly { readonly status: string }[];
    expect(sessions.map(({ status }) => status)).toEqual(Array.from({ length: 8 }, () => 'completed'));
    await opened.expectNoProblems();
  });
});
