import fc from 'fast-check';
import { expect, test } from 'vitest';
import { answersText, checkAnswers, parseQuestions, type Question } from './questions.ts';

const colour = { id: 'colour', question: 'Which colour?', options: ['Red', 'Blue'] };
const sizes = { id: 'sizes', question: 'Which sizes?', options: ['S', 'M'], allowMultiple: true, allowFreeForm: true };
const name = { id: 'name', question: 'Which name?' };
const questions: readonly Question[] = [colour, sizes, name];

test('E-611: valid questions come back as they were asked; other keys and empty options are dropped', () => {
  expect(parseQuestions({ questions: [colour, sizes, name] })).toEqual({ ok: true, questions });
  expect(parseQuestions({ questions: [{ ...name, options: [], allowMultiple: false, extra: 1 }] })).toEqual({
    ok: true,
    questions: [name],
  });
});

test('E-611: other questions are refused, and the one at fault is named', () => {
  const many = Array.from({ length: 11 }, (_, index) => ({ ...name, id: `q${index}` }));
  for (const input of [null, {}, { questions: [] }, { questions: 'Why?' }, { questions: many }])
    expect(parseQuestions(input)).toMatchObject({ ok: false, why: expect.stringContaining('1 to 10') });
  const faults = [
    null,
    { ...name, id: '' },
    { ...name, id: 7 },
    { id: 'b', question: 'x'.repeat(1001) },
    { ...name, options: ['a', 'a'] },
    { ...name, options: [1] },
    { ...name, options: Array.from({ length: 21 }, (_, index) => `${index}`) },
    colour,
  ];
  for (const fault of faults)
    expect(parseQuestions({ questions: [colour, fault] })).toMatchObject({
      ok: false,
      why: expect.stringMatching(/^Question 2: /),
    });
});

test('E-611: answers may be partial, with offered options and free text where it is asked for', () => {
  for (const answers of [
    [],
    [{ id: 'colour' }],
    [{ id: 'colour', selected: ['Blue'] }],
    [
      { id: 'name', text: 'Ann' },
      { id: 'sizes', selected: ['M', 'S'], text: 'and XL' },
    ],
  ])
    expect(checkAnswers(questions, answers)).toEqual({ ok: true });
});

test('E-611: an answer that the question does not offer is refused by its id', () => {
  for (const [id, answer] of [
    ['other', {}],
    ['colour', { selected: ['Green'] }],
    ['colour', { selected: ['Red', 'Blue'] }],
    ['colour', { text: 'Green' }],
    ['sizes', { selected: ['S', 'S'] }],
    ['name', { selected: ['Ann'] }],
  ] as const)
    expect(checkAnswers(questions, [{ id, ...answer }])).toMatchObject({ ok: false, id });
  const twice = [{ id: 'name' }, { id: 'name', text: 'Ann' }];
  expect(checkAnswers(questions, twice)).toMatchObject({ ok: false, id: 'name' });
});

test('E-611: the model reads every question with its answer, also the open ones', () => {
  const answers = [
    { id: 'sizes', selected: ['M', 'S'], text: 'and XL \ud800' },
    { id: 'name', text: 'Ann' },
  ];
  expect(answersText(questions, answers)).toBe(
    [
      '[colour] Which colour?\nNot answered.',
      '[sizes] Which sizes?\n- M\n- S\nAnswer: and XL \ufffd',
      '[name] Which name?\nAnswer: Ann',
    ].join('\n\n'),
  );
  expect(answersText(questions, 'declined')).toBe('The user declined to answer.');
});

test('E-551: whatever a model asks is refused or parsed into well-formed questions that fit their own check', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.array(fc.jsonValue(), { maxLength: 3 }), (input, entries) => {
      for (const value of [input, { questions: entries.map((entry) => Object.assign({ ...name }, entry)) }]) {
        const parsed = parseQuestions(JSON.parse(JSON.stringify(value)));
        if (parsed.ok) expect(parseQuestions(JSON.parse(JSON.stringify(parsed)))).toEqual(parsed);
      }
    }),
  );
});
