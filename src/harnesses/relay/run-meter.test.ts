import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createRunMeter, noLeaseBudget, type LeaseBudget, type RunMeter } from './run-meter.ts';
import { initialRunState, type RunState } from '../../core/run-state.ts';
import { noBudgets, type Limits } from '../../core/run-config.ts';
import { runIds, sessionIds } from '../../core/ids.ts';
import type { RelayedCall } from './relayed-call.ts';
import type { Usage } from '../../core/usage.ts';

const tokens = (inputTokens: number, outputTokens: number): Usage => ({
  inputTokens,
  outputTokens,
  cacheReadInputTokens: null,
  cacheCreationInputTokens: null,
  thinkingTokens: null,
});
const ended = (request: number, usage: Usage | null = tokens(11, 7), dollars = 0.01): RelayedCall => ({
  provider: 'openai',
  request,
  model: 'm',
  how: 'whole',
  failure: null,
  status: 200,
  usage,
  dollars,
});
const run = (id: string, limits: Partial<Limits> = {}, usage: Usage | null = null): RunState => ({
  ...initialRunState(runIds.make(id), sessionIds.make('1')),
  limits: { ...noBudgets, ...limits },
  usage,
});

/** A call from its beginning to its end; false: it was refused. */
function call(meter: RunMeter, request: number, usage?: Usage): boolean {
  meter.asked(request);
  if (meter.refuses()) return false;
  meter.admitted();
  meter.ended(ended(request, usage));
  return true;
}

describe('M3: budgets', () => {
  test.each([
    ['maxTotalTokens', { maxTotalTokens: 36 }, 'max-total-tokens', 36],
    ['maxOutputTokens', { maxOutputTokens: 14 }, 'max-tokens', 14],
    ['maxCostDollars', { maxCostDollars: 0.000_2 }, 'max-cost', 0.000_276],
  ] as const)('the run’s own %s refuses the call after the one that spent it', (_, limits, stopReason, used) => {
    const meter = createRunMeter();
    meter.begin(run('1', limits));
    expect([call(meter, 1), call(meter, 2), meter.cut]).toEqual([true, true, null]);
    expect(call(meter, 3)).toBe(false);
    expect(meter.cut).toMatchObject({ status: 'completed', stopReason, budget: { used, then: 'stop' } });
  });

  test.each([
    [{ dollars: 0.02 }, 'max-cost', 'cost'],
    [{ tokens: 20 }, 'max-total-tokens', 'tokens'],
    [{ requests: 2 }, 'max-steps', 'steps'],
  ] as const)('so does that of the settings: %o', (budget, stopReason, name) => {
    const meter = createRunMeter({ ...noLeaseBudget, ...budget });
    meter.begin(run('1'));
    expect([1, 2, 3].map((request) => call(meter, request))).toEqual([true, true, false]);
    expect(meter.cut).toMatchObject({ stopReason, budget: { budget: name, limit: Object.values(budget)[0] } });
  });

  test('what the run had used before this process counts; the next run of the session begins anew', () => {
    const meter = createRunMeter({ ...noLeaseBudget, requests: 1 });
    meter.begin(run('1', { maxTotalTokens: 100 }, tokens(60, 40)));
    expect(call(meter, 1)).toBe(false);
    meter.beyond(tokens(60, 40));
    meter.begin(run('2', { maxTotalTokens: 100 }));
    expect([meter.cut, call(meter, 2), call(meter, 3)]).toEqual([null, true, false]);
  });

  test('a run that goes on after a person was asked goes on counting', () => {
    const meter = createRunMeter({ ...noLeaseBudget, requests: 2 });
    meter.begin(run('1'));
    call(meter, 1);
    meter.begin(run('1', {}, tokens(11, 7)));
    expect([call(meter, 2), call(meter, 3)]).toEqual([true, false]);
    expect(meter.beyond(tokens(22, 14))).toBeNull();
  });

  test('between runs nothing is refused', () => {
    const meter = createRunMeter({ ...noLeaseBudget, requests: 0 });
    meter.asked(1);
    expect(meter.refuses()).toBe(false);
  });
});

describe('H-206: what no step owns', () => {
  test('M4: is what the relay counted beyond the log, field by field, and is asked for again with the same answer', () => {
    const meter = createRunMeter();
    meter.begin(run('1'));
    meter.asked(1);
    meter.asked(2);
    meter.ended(ended(2, tokens(11, 7)));
    meter.ended(ended(1, tokens(3, 1)));
    expect(meter.beyond(tokens(11, 7))).toEqual(tokens(3, 1));
    expect(meter.beyond(tokens(11, 7))).toEqual(tokens(3, 1));
    expect(meter.beyond(tokens(14, 8))).toBeNull();
    expect(meter.beyond(tokens(40, 8))).toBeNull();
    expect(meter.beyond(null)).toEqual(tokens(14, 8));
  });

  test('M2: a call that was asked for between two runs is the later one’s; what is told of one after its run is nobody’s', () => {
    const meter = createRunMeter();
    meter.begin(run('1'));
    meter.asked(1);
    expect(meter.beyond(null)).toBeNull();
    meter.asked(2);
    meter.ended(ended(2, tokens(3, 1)));
    meter.begin(run('2'));
    meter.ended(ended(1, tokens(100, 100)));
    expect(meter.beyond(null)).toEqual(tokens(3, 1));
  });

  test('M2: a turn that goes on with what somebody said keeps what its first part asked for', () => {
    const meter = createRunMeter();
    meter.begin(run('1'));
    meter.asked(1);
    meter.beyond(null);
    meter.ended(ended(1, tokens(3, 1)));
    expect(meter.beyond(null)).toEqual(tokens(3, 1));
  });

  test('M1: over any mix of calls and runs, every call that ended in time is told of once', () => {
    const event = fc.oneof(
      fc.record({ is: fc.constant('asked' as const), usage: fc.tuple(fc.nat(99), fc.nat(99)) }),
      fc.record({ is: fc.constant('ended' as const), which: fc.nat(9) }),
      fc.record({ is: fc.constant('next-run' as const) }),
    );
    fc.assert(
      fc.property(fc.array(event, { maxLength: 60 }), (events) => {
        const meter = createRunMeter();
        meter.begin(run('0'));
        const open: { request: number; usage: readonly [number, number]; runs: number }[] = [];
        let [runs, asked, expected, told] = [0, 0, 0, 0];
        for (const each of events) {
          if (each.is === 'asked') {
            meter.asked(++asked);
            open.push({ request: asked, usage: each.usage, runs });
          } else if (each.is === 'ended') {
            const [one] = open.splice(each.which % Math.max(1, open.length), 1);
            if (one === undefined) continue;
            meter.ended(ended(one.request, tokens(...one.usage)));
            if (one.runs === runs) expected += one.usage[0];
          } else {
            told += meter.beyond(null)?.inputTokens ?? 0;
            meter.begin(run(String(++runs)));
          }
        }
        expect(told + (meter.beyond(null)?.inputTokens ?? 0)).toBe(expected);
      }),
    );
  });
});

test('a budget without any limit is never spent', () => {
  const none: LeaseBudget = noLeaseBudget;
  const meter = createRunMeter(none);
  meter.begin(run('1'));
  expect(Array.from({ length: 50 }, (_, index) => call(meter, index + 1)).every(Boolean)).toBe(true);
});
