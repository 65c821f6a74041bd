/** One line of the table. */
export interface Row {
  readonly what: string;
  readonly bare: string;
  readonly reins: string;
  readonly ratio: string;
  readonly target: string;
  /** Null: there is no target. */
  readonly met: boolean | null;
}

export interface BenchOptions {
  /** For CI: fewer rounds, shorter streams. */
  readonly quick: boolean;
  /** Folder for CPU profiles of Reins. */
  readonly profile?: string | undefined;
}

export type Benchmark = (options: BenchOptions) => Promise<readonly Row[]>;

export function digits(value: number, places = 1): string {
  return value.toFixed(places);
}
