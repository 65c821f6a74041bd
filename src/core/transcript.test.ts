import { describe, expect, test } from 'vitest';
import fc from 'fast-check';
import { arbitraryLog } from '../testing/arbitrary-log.ts';
import { createLogBuilder, testRunId, testSessionId, type BlockScript } from '../testing/log-builder.ts';
import { isLive, type RunEvent } from './run-event.ts';
import {
  compactable,
  compactTranscript,
  emptyTranscript,
  extendTranscript,
  viewOf,
  withoutOutput,
  withoutPlace,
  type Message,
  type Transcript,
} from './transcript.ts';

const fold = (events: readonly RunEvent[], from: Transcript = emptyTranscript) => events.reduce(extendTranscript, from);

const nowhere = {
  v: 1,
  runId: testRunId,
  sessionId: testSessionId,
  seq: 0,
  at: 1,
  leg: 1,
  step: 1,
  attempt: 0,
} as const;

/** Valid logs in which somebody speaks at any moment between the first event and the last. */
const spokenLog = fc.tuple(arbitraryLog, fc.array(fc.nat(200), { maxLength: 4 })).map(([log, moments]) => {
  const events = [...log];
  for (const [index, moment] of moments.entries()) {
    const data = { messageId: `m${index}`, content: [{ type: 'text', text: `word ${index}` }], mode: 'steer' } as const;
    const at = 1 + (moment % (events.length - 1));
    events.splice(at, 0, { type: 'user-message', data, ...nowhere });
  }
  return events.map((event, index) => ({ ...event, seq: index + 1 }));
});

const history = fc
  .array(arbitraryLog, { maxLength: 2 })
  .map((logs) => logs.flatMap((log) => fold(log).messages.map(withoutPlace)));

/** Each call of a reply has its one answer in the message after it, in the order of the calls. */
function expectPaired(messages: readonly Message[]): void {
  for (const [index, message] of messages.entries()) {
    const next = messages[index + 1];
    const calls = message.role === 'assistant' ? message.parts.filter((part) => part.kind === 'tool-call') : [];
    const answers = next?.role === 'tool' ? next.answers : [];
    if (message.role === 'assistant')
      expect(answers.map(({ toolCallId }) => toolCallId)).toEqual(calls.map(({ call }) => call.id));
    if (message.role === 'tool') expect(messages[index - 1]?.role).toBe('assistant');
  }
}

describe('the fold', () => {
  test('E-940: it goes on from any prefix as from the whole, and an event of a newer version changes nothing', () => {
    fc.assert(
      fc.property(spokenLog, fc.nat(), (log, n) => {
        const cut = n % (log.length + 1);
        expect(fold(log.slice(cut), fold(log.slice(0, cut)))).toEqual(fold(log));
        const unknown = { ...nowhere, type: 'from-the-future', data: {} } as unknown as RunEvent;
        const state = fold(log.slice(0, cut));
        expect(extendTranscript(state, unknown)).toBe(state);
      }),
    );
  });

  test('E-212, E-845: live events and given-up attempts leave no trace', () => {
    fc.assert(
      fc.property(spokenLog, (log) => {
        const kept = log.filter(({ type }) => !isLive(type) && type !== 'attempt-reset');
        expect(fold(kept)).toEqual(fold(log));
      }),
    );
  });

  test('T1, E-565: however a run ends, each call has exactly one answer right after its reply', () => {
    fc.assert(fc.property(spokenLog, (log) => expectPaired(fold(log).messages)));
  });

  test('T2, E-660: what is said while a step is open stands after the results of that step', () => {
    const log = createLogBuilder();
    log.start();
    log.step({ blocks: [toolCall('a', 'first')] });
    const said = { messageId: 'm', content: [{ type: 'text', text: 'Wait.' }], mode: 'steer' } as const;
    const at = log.events.findIndex(({ type }) => type === 'tool-dispatched');
    const events: RunEvent[] = [
      ...log.events.slice(0, at),
      { ...nowhere, type: 'user-message', data: said, seq: at + 1 },
      ...log.events.slice(at).map((event) => ({ ...event, seq: event.seq + 1 })),
    ];
    expect(fold(events.slice(0, at + 1)).messages.map(({ role }) => role)).toEqual(['user', 'assistant']);
    expect(fold(events).messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'user']);
  });

  test('T3: places never fall', () => {
    fc.assert(
      fc.property(spokenLog, (log) => {
        const places = fold(log).messages.map(({ seq }) => seq ?? NaN);
        expect(places).toEqual(places.toSorted((a, b) => a - b));
      }),
    );
  });

  test('E-114: nothing of a sub-agent is part of it', () => {
    fc.assert(
      fc.property(arbitraryLog, (log) => {
        const inner = log.map((event) => ({ ...event, agentPath: ['helper'] }));
        expect(fold(inner)).toBe(emptyTranscript);
      }),
    );
  });
});

describe('what is read after compaction', () => {
  const change = fc.record({ method: fc.constantFrom('prune', 'summary', 'trim'), at: fc.nat() });

  /** A compaction at the place of one of the messages. */
  const compact = (
    transcript: Transcript,
    earlier: readonly Message[],
    { method, at }: { method: 'prune' | 'summary' | 'trim'; at: number },
  ) => {
    const places = [0, ...compactable(transcript, earlier).map(({ place }) => place)];
    const throughSeq = places[at % places.length] ?? 0;
    const text = method === 'summary' ? { summary: `of ${at}` } : {};
    return { throughSeq, transcript: compactTranscript(transcript, { method, throughSeq, ...text }) };
  };

  test('E-442, E-443: what was asked and all that is newer is read as it was, whatever was left out before', () => {
    fc.assert(
      fc.property(spokenLog, history, fc.array(change, { minLength: 1, maxLength: 4 }), (log, earlier, changes) => {
        let transcript = fold(log);
        let through = -Infinity;
        for (const each of changes) {
          const next = compact(transcript, earlier, each);
          through = Math.max(through, next.throughSeq);
          transcript = next.transcript;
        }
        const view = viewOf(transcript, earlier);
        const kept = [
          ...earlier.filter((_, index) => index - earlier.length + 1 > through),
          ...transcript.messages.filter(({ seq = 0 }) => seq > through || seq === 1),
        ];
        expect(view.filter((message) => kept.includes(message))).toEqual(kept);
      }),
    );
  });

  test('E-442: nothing is taken out of the transcript itself', () => {
    fc.assert(
      fc.property(spokenLog, history, change, (log, earlier, each) => {
        const before = fold(log);
        const { messages } = compact(before, earlier, each).transcript;
        expect(messages).toBe(before.messages);
      }),
    );
  });

  test('a session that is read as earlier messages of the next run reads the same', () => {
    fc.assert(
      fc.property(spokenLog, history, change, (log, earlier, each) => {
        const { transcript } = compact(fold(log), earlier, each);
        const view = viewOf(transcript, earlier);
        expect(viewOf(emptyTranscript, view)).toEqual(view);
      }),
    );
  });

  const session = () => {
    const earlier: readonly Message[] = ['older', 'old'].map((text) => ({
      role: 'user',
      content: [{ type: 'text', text }],
    }));
    const log = createLogBuilder();
    log.start();
    log.step({ blocks: [toolCall('a', 'x'.repeat(500))] });
    log.step({ blocks: [toolCall('b', 'y'.repeat(500))] });
    return { earlier, transcript: fold(log.events), places: fold(log.events).messages.map(({ seq }) => seq ?? 0) };
  };
  const shown = (messages: readonly Message[]) =>
    messages.map((message) => {
      switch (message.role) {
        case 'user':
          return message.content.map((part) => (part.type === 'text' ? part.text : part.type)).join();
        case 'assistant':
          return 'reply';
        case 'tool':
          return message.answers.map(({ content }) => content.slice(0, 3)).join();
      }
    });

  test('a summary of earlier messages stands before the ones that stay', () => {
    const { earlier, transcript } = session();
    const after = compactTranscript(transcript, { method: 'summary', throughSeq: -1, summary: 'In short.' });
    expect(shown(viewOf(after, earlier))).toEqual([
      '[Messages that stood here were left out to save space. This is what they came to:]\n\nIn short.',
      'old',
      'Do it.',
      'reply',
      'xxx',
      'reply',
      'yyy',
    ]);
  });

  test('a summary of this run stands after what the run was asked', () => {
    const { earlier, transcript, places } = session();
    const after = compactTranscript(transcript, { method: 'summary', throughSeq: places[2] ?? 0, summary: 'Did x.' });
    const view = shown(viewOf(after, earlier));
    expect(view[0]).toBe('Do it.');
    expect(view[1]).toContain('Did x.');
    expect(view.slice(2)).toEqual(['reply', 'yyy']);
  });

  test('a trim leaves a note, and an earlier summary where there is one', () => {
    const { earlier, transcript, places } = session();
    const trimmed = compactTranscript(transcript, { method: 'trim', throughSeq: -1 });
    expect(shown(viewOf(trimmed, earlier))[0]).toBe('[Messages that stood here were left out to save space.]');
    const first = compactTranscript(transcript, { method: 'summary', throughSeq: 0, summary: 'In short.' });
    const both = compactTranscript(first, { method: 'trim', throughSeq: places[2] ?? 0 });
    expect(shown(viewOf(both, earlier))[1]).toContain('In short.');
  });

  test('a pruned result says how to read it again, keeps its place for that, and is one object each time', () => {
    const { earlier, transcript, places } = session();
    const spill = { ref: 'r', bytes: 9000 };
    const [, , result] = transcript.messages;
    if (result?.role !== 'tool') throw new Error('The third message holds the result.');
    const spilled: Message = { ...result, answers: result.answers.map((answer) => ({ ...answer, spill })) };
    const messages = transcript.messages.with(2, spilled);
    const after = compactTranscript({ ...transcript, messages }, { method: 'prune', throughSeq: places[2] ?? 0 });
    const read = viewOf(after, earlier)[4];
    expect(read).toMatchObject({ answers: [{ toolCallId: 'a', spill, isError: false }] });
    expect(JSON.stringify(read)).toContain('read_tool_result(id: \\"a\\")');
    expect(viewOf(after, earlier)[4]).toBe(read);
    expect(shown(viewOf(after, earlier)).at(-1)).toBe('yyy');
  });

  test('clearing output twice is clearing it once; short answers stay, media goes', () => {
    const short: Message = {
      role: 'tool',
      answers: [{ toolCallId: 'a', name: 'n', content: 'ok', isError: false }],
    };
    expect(withoutOutput(short)).toBe(short);
    const media = [{ ref: 'r', bytes: 10, mediaType: 'image/png' }];
    const shot: Message = { role: 'tool', answers: short.answers.map((answer) => ({ ...answer, media })) };
    expect(withoutOutput(shot)).toEqual(short);
    fc.assert(
      fc.property(spokenLog, (log) => {
        for (const message of fold(log).messages) {
          const once = withoutOutput(message);
          expect(withoutOutput(once)).toEqual(once);
        }
      }),
    );
  });
});

function toolCall(id: string, content: string): BlockScript {
  return { kind: 'call', id, pieces: ['{}'], outcome: 'ok', content };
}
