import { expect, onTestFinished, test } from 'vitest';
import { join } from 'node:path';
import { loadConfig } from './config.ts';
import { lookAtSettings } from './look-at-settings.ts';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { openCatalogue } from './open-catalogue.ts';
import { systemClock } from './system.ts';
import { tmpdir } from 'node:os';

async function look(settings: object) {
  const dataDir = mkdtempSync(join(tmpdir(), 'reins-settings-'));
  onTestFinished(() => rmSync(dataDir, { recursive: true, force: true }));
  mkdirSync(join(dataDir, 'folder'));
  writeFileSync(join(dataDir, 'file'), '');
  const file = join(dataDir, 'config.json');
  writeFileSync(file, JSON.stringify(settings));
  const config = loadConfig({ flags: { data: dataDir }, env: {} });
  await using catalogue = openCatalogue(config, systemClock);
  return { file, findings: lookAtSettings(config, catalogue) };
}

test('what is there, or can be made, is not complained of', async () => {
  const { findings } = await look({
    agent: {
      template: 'folder',
      templates: ['folder'],
      skills: ['folder'],
      workspace: 'folder/new/one',
      mcp: [
        { name: 'node', transport: 'stdio', command: 'node' },
        { name: 'near', transport: 'stdio', command: './file' },
        { name: 'off', transport: 'stdio', command: 'no-such-program', disabled: true },
      ],
    },
    harnesses: { programs: { codex: 'file' } },
    limits: { models: ['demo', 'openai/any'], principals: { ada: { models: null }, bob: { runningTasks: 1 } } },
  });
  expect(findings.filter(({ state }) => state !== 'well')).toEqual([]);
});

test.each([
  ['agent.template', 'wrong', { agent: { template: 'none' } }, 'none, which is no folder'],
  ['agent.template', 'wrong', { agent: { template: 'file' } }, 'file, which is no folder'],
  ['agent.templates', 'beware', { agent: { templates: ['folder', 'none'] } }, 'none, which is no folder'],
  ['agent.skills', 'beware', { agent: { skills: ['none', 'folder'] } }, 'none, which is no folder'],
  ['agent.workspace', 'wrong', { agent: { workspace: 'file/below' } }, 'None can be made'],
  ['limits.models', 'beware', { limits: { models: ['no-such-model'] } }, "No model is called 'no-such-model'"],
  [
    'limits.principals.ada.models',
    'beware',
    { limits: { principals: { ada: { models: ['demo', 'no-such-model'] } } } },
    "No model is called 'no-such-model'",
  ],
  ['harnesses.programs.codex', 'wrong', { harnesses: { programs: { codex: '/nowhere/codex' } } }, '/nowhere/codex'],
  [
    'MCP server tickets',
    'wrong',
    { agent: { mcp: [{ name: 'tickets', transport: 'stdio', command: 'no-such-program' }] } },
    'no-such-program',
  ],
])('%s that cannot be used is told with the file that sets it', async (what, state, settings, words) => {
  const { file, findings } = await look(settings);
  const [first, ...more] = findings.filter((finding) => finding.state !== 'well');
  expect(more).toEqual([]);
  expect(first).toEqual({ what, state, message: expect.stringContaining(words) });
  expect(first?.message).toContain(file);
});

test('a model is to be named as it is compared', async () => {
  const catalogue = [{ id: 'large', providers: { openai: 'gpt-large-2' } }];
  const { findings } = await look({ models: { catalogue }, limits: { models: ['large', 'gpt-large-2'] } });
  expect(findings).toEqual([
    { what: 'limits.models', state: 'beware', message: expect.stringContaining("compared as 'large'") },
  ]);
});
