/** How the events of one task arise. Travels as the task's input, so that both servers read it from the request. */
export type TaskShape =
  /** From the gate on, `perTick` events each `everyMs`; `phase` spreads streams over the period. */
  | {
      readonly kind: 'steady';
      readonly events: number;
      readonly everyMs: number;
      readonly perTick: number;
      readonly phase: number;
      /** Whether each event says when it arose. */
      readonly stamped: boolean;
    }
  /** All at once, then the end. */
  | { readonly kind: 'answer'; readonly events: number }
  /** One event, then nothing until the server stops. */
  | { readonly kind: 'hold' };

/** So many events at once in each window of 5 ms. */
export function burst(events: number, perTick: number): TaskShape {
  return { kind: 'steady', events, everyMs: 5, perTick, phase: 0, stamped: false };
}

/** One event each 20 ms, as a fast model writes them. */
export function paced(events: number, phase: number): TaskShape {
  return { kind: 'steady', events, everyMs: 20, perTick: 1, phase, stamped: true };
}

export function parseTaskShape(text: string): TaskShape {
  const shape: TaskShape = JSON.parse(text);
  return shape;
}

/** The text of one event, as long as a usual delta; or when it arose, in µs that all processes of the machine share. */
export function deltaText(shape: TaskShape): string {
  if (shape.kind !== 'steady' || !shape.stamped) return ' streaming';
  const [seconds, nanoseconds] = process.hrtime();
  return `@${seconds * 1_000_000 + Math.floor(nanoseconds / 1_000)} `;
}
