import type { LanguageModelV4 } from '@ai-sdk/provider';

/** What one run is asked to do: one reply in so many text deltas, or so many replies with one tool call each. */
export interface RunShape {
  readonly kind: 'deltas' | 'steps';
  readonly count: number;
}

/** What all engines are made of, once for all their runs. */
export interface EngineParts {
  readonly model: LanguageModelV4;
  /** The one tool there is. */
  readonly tool: {
    readonly name: string;
    readonly description: string;
    readonly run: (input: unknown) => string;
  };
}

export interface Contender {
  /** Drives one run and reads all that it shows. Gives the length of the text that was shown. */
  run(shape: RunShape): Promise<number>;
}

export const toolSchema = {
  type: 'object',
  properties: { n: { type: 'number' } },
  required: ['n'],
  additionalProperties: false,
} as const;
