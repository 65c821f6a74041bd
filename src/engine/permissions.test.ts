// Whether a prepared call may run: E-520 to E-525, E-609.

import { describe, expect, test } from 'vitest';
import { mkdir, mkdtemp, realpath, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { tmpdir } from 'node:os';
import { allowAll, type PermissionMode, type RunPermissions } from '../core/run-config.ts';
import { countingTool } from '../testing/counting-tool.ts';
import { createEngineRig, type EngineRig, type EngineRigOptions } from '../testing/engine-rig.ts';
import { judge, type JudgedCall } from './permissions.ts';
import { ruleIds } from '../core/ids.ts';
import { simpleCall, simpleCalls, simpleText } from '../testing/model-servers/reply-script.ts';
import type { PermissionLevel, Tool, UseKind } from './tool.ts';
import type { Rule } from '../core/rule.ts';

const done = simpleText('Done.');
const rule = (facts: Partial<Rule>): Rule => ({
  ruleId: ruleIds.make('r'),
  toolName: 'add',
  match: 'tool',
  argsDigest: '',
  effect: 'allow',
  ...facts,
});

describe('E-520: a deny from any side wins, then a rule, then the agent, the tool, the mode, the default', () => {
  const levelOf = async (o: {
    own?: PermissionLevel;
    tool?: PermissionLevel;
    rules?: Rule[];
    fallback?: PermissionLevel;
  }) => {
    const tool = countingTool('add', o.tool === undefined ? {} : { permission: o.tool });
    const permissions: RunPermissions = { ...allowAll, tools: o.own === undefined ? {} : { add: o.own } };
    const settings = { permissions, defaultLevel: o.fallback ?? 'allow', rules: o.rules ?? [] };
    return judge({ tool, input: {}, argsDigest: 'd', workspace: '/' }, settings);
  };
  const allow = rule({ effect: 'allow' });
  const deny = rule({ ruleId: ruleIds.make('no'), effect: 'deny' });

  test.each([
    [{}, 'allow'],
    [{ fallback: 'ask' }, 'ask'],
    [{ tool: 'ask' }, 'ask'],
    [{ own: 'allow', tool: 'ask' }, 'allow'],
    [{ own: 'ask', tool: 'allow' }, 'ask'],
    [{ own: 'deny', tool: 'allow', rules: [allow] }, 'deny'],
    [{ own: 'allow', tool: 'deny', rules: [allow] }, 'deny'],
    [{ own: 'allow', rules: [allow, deny] }, 'deny'],
    [{ tool: 'ask', rules: [allow] }, 'allow'],
    [{ tool: 'ask', rules: [rule({ toolName: 'other' })] }, 'ask'],
    [{ tool: 'ask', rules: [rule({ toolIdentity: 'old' })] }, 'ask'],
    [{ tool: 'ask', rules: [rule({ toolIdentity: 'old', effect: 'deny' })] }, 'deny'],
  ] as const)('%j is %s', async (given, level) => {
    expect(await levelOf({ ...given, rules: 'rules' in given ? [...given.rules] : [] })).toMatchObject({ level });
  });

  test('E-524: it says what decided', async () => {
    expect(await levelOf({})).toMatchObject({ authority: 'policy' });
    expect(await levelOf({ tool: 'ask', rules: [allow] })).toMatchObject({ authority: `rule:${allow.ruleId}` });
  });
});

test('E-521: a mode maps what built-in tools do to levels', async () => {
  const kinds: readonly (UseKind | undefined)[] = ['readonly', 'edit', 'execute', 'network', undefined];
  const levels = async (mode: PermissionMode) =>
    Promise.all(
      kinds.map(async (useKind) => {
        const tool = countingTool('add', useKind === undefined ? {} : { useKind });
        const settings = { permissions: { ...allowAll, mode }, defaultLevel: 'allow', rules: [] } as const;
        return (await judge({ tool, input: {}, argsDigest: 'd', workspace: '/' }, settings)).level;
      }),
    );
  expect(await levels('allow-all')).toEqual(['allow', 'allow', 'allow', 'allow', 'allow']);
  expect(await levels('allow-edits')).toEqual(['allow', 'allow', 'ask', 'ask', 'ask']);
  expect(await levels('allow-reads')).toEqual(['allow', 'ask', 'ask', 'ask', 'ask']);
});

describe('E-609: remembered decisions', () => {
  const decided = async (match: Rule['match'], call: Partial<JudgedCall>) => {
    const tool: Tool = countingTool('add', { permission: 'ask' });
    const rules = [rule({ match, argsDigest: 'same' })];
    return (
      await judge(
        { tool, input: {}, argsDigest: '', workspace: '/', ...call },
        { permissions: undefined, defaultLevel: 'allow', rules },
      )
    ).level;
  };

  test('of exact arguments hold for those alone', async () => {
    expect(await decided('exact-args', { argsDigest: 'same' })).toBe('allow');
    expect(await decided('exact-args', { argsDigest: 'other' })).toBe('ask');
  });

  test('of a path hold below it with links resolved, and not for a name that only begins alike', async () => {
    const workspace = await realpath(await mkdtemp(join(tmpdir(), 'reins-rule-')));
    try {
      for (const folder of ['src', 'src-old', 'secret']) await mkdir(join(workspace, folder));
      await symlink(join(workspace, 'secret'), join(workspace, 'src', 'out'));
      await symlink(join(workspace, 'src'), join(workspace, 'in'));
      const level = (path: string) => decided({ pathPrefix: 'src' }, { input: { path }, workspace });
      for (const path of ['src', 'src/new/file.txt', 'in/file.txt', join(workspace, 'src/a')])
        expect(await level(path), path).toBe('allow');
      for (const path of ['src-old/a', 'src/out/key', 'src/../secret/key', '../src'])
        expect(await level(path), path).toBe('ask');
      expect(await decided({ pathPrefix: 'src' }, { input: { n: 1 }, workspace })).toBe('ask');
      const named = (...paths: string[]) =>
        decided({ pathPrefix: 'src' }, { input: { path: 'src' }, paths, workspace });
      expect([await named('src/a', 'src/b'), await named('src/a', 'secret/b')]).toEqual(['allow', 'ask']);
    } finally {
      await rm(workspace, { recursive: true });
    }
  });
});

const gated = (facts: Partial<Tool> = {}) => countingTool('add', { permission: 'ask', ...facts });
const denials = (rig: EngineRig) =>
  rig.events('tool-call-complete').filter(({ data }) => data.outcome === 'denied').length;

function rigOf(options: Partial<EngineRigOptions>) {
  const tool = gated();
  const rig = createEngineRig({ replies: [simpleCall('a', 'add', {}), done], tools: [tool], ...options });
  return { rig, tool };
}

describe('E-522: in a direct run a callback decides', () => {
  const asking = (decide: () => boolean | Promise<boolean>) => rigOf({ people: { how: 'ask', decide } });

  test('a yes runs the call, by its authority', async () => {
    const { rig, tool } = asking(async () => true);
    expect(await rig.run()).toMatchObject({ status: 'completed', output: 'Done.' });
    expect(tool.runs).toHaveLength(1);
    expect(rig.events('tool-dispatched')[0]?.data.authority).toBe('callback');
  });

  test.each([
    ['a no', () => false],
    ['something that is no boolean', () => 'yes' as unknown as boolean],
    ['a failure', () => Promise.reject(new Error('no'))],
  ])('%s denies it, and the run goes on', async (_, decide) => {
    const { rig, tool } = asking(decide);
    expect(await rig.run()).toMatchObject({ status: 'completed', output: 'Done.' });
    expect([tool.runs.length, denials(rig)]).toEqual([0, 1]);
  });

  test('without a callback it is denied', async () => {
    const { rig, tool } = rigOf({ people: { how: 'deny' } });
    expect(await rig.run()).toMatchObject({ status: 'completed' });
    expect([tool.runs.length, denials(rig)]).toEqual([0, 1]);
  });
});

describe('E-524: the level is computed again right before dispatch', () => {
  const twice = simpleCalls(['1', 'first', {}], ['2', 'add', {}]);
  /** Two calls one after the other; while the first runs the rules change. */
  async function changeWhileFirstRuns(before: readonly Rule[], after: readonly Rule[], tool: Tool) {
    let rules = before;
    const first = countingTool('first', { concurrent: false, run: async () => ((rules = after), { content: 'ok' }) });
    const rig = createEngineRig({ replies: [twice, done], tools: [first, tool], rules: () => rules });
    return { rig, result: await rig.run() };
  }

  test('what a rule has come to forbid meanwhile is answered, not run', async () => {
    const tool = countingTool('add');
    const { rig, result } = await changeWhileFirstRuns([], [rule({ effect: 'deny' })], tool);
    expect(result).toMatchObject({ status: 'completed' });
    expect([tool.runs.length, denials(rig)]).toEqual([0, 1]);
  });

  test('what a rule had allowed and allows no more is asked for', async () => {
    const tool = gated();
    const { rig, result } = await changeWhileFirstRuns([rule({})], [], tool);
    expect(result).toMatchObject({ status: 'awaiting-input', pending: [{ call: { id: '2' } }] });
    expect(tool.runs).toHaveLength(0);
    rig.decide('2', { decision: 'approve' });
    expect(await rig.resume()).toMatchObject({ status: 'completed' });
    expect(tool.runs).toHaveLength(1);
  });

  test('an approval does not stand against a deny that came after it', async () => {
    let rules: readonly Rule[] = [];
    const { rig, tool } = rigOf({ rules: () => rules });
    await rig.run();
    rig.decide('a', { decision: 'approve' });
    rules = [rule({ effect: 'deny' })];
    expect(await rig.resume()).toMatchObject({ status: 'completed' });
    expect([tool.runs.length, denials(rig)]).toEqual([0, 1]);
  });

  test('the authority is stored with the dispatch', async () => {
    const { rig } = rigOf({ rules: () => [rule({})] });
    await rig.run();
    expect(rig.events('tool-dispatched')[0]?.data.authority).toBe(`rule:${rule({}).ruleId}`);
  });

  test('a call that had begun before a crash, and is forbidden now, is not repeated: its outcome stays unknown', async () => {
    let rules: readonly Rule[] = [];
    const tool = countingTool('add', { replay: 'safe' });
    const rig = createEngineRig({ replies: [simpleCall('a', 'add', {}), done], tools: [tool], rules: () => rules });
    await rig.run({ leaveAt: 'tool-dispatched' });
    rules = [rule({ effect: 'deny' })];
    expect(await rig.recover()).toMatchObject({ status: 'completed' });
    expect([tool.runs.length, rig.events('tool-call-complete')[0]?.data.outcome]).toEqual([0, 'unknown']);
  });
});

test('E-525: while one call of a batch waits for a decision, the whole batch waits', async () => {
  const tools = [gated(), countingTool('free')];
  const rig = createEngineRig({ replies: [simpleCalls(['1', 'free', {}], ['2', 'add', {}]), done], tools });
  expect(await rig.run()).toMatchObject({ status: 'awaiting-input', pending: [{ call: { id: '2' } }] });
  expect(tools.flatMap(({ runs }) => runs)).toEqual([]);
  expect(rig.events('tool-dispatched')).toEqual([]);
});
