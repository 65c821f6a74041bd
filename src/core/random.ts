/** Randomness enters Reins here and nowhere else (E-011). */
export interface Random {
  /** A fraction in [0, 1), for jitter. */
  fraction(): number;
  /** 128 or more unguessable bits as lower-case hex, for ids and keys. */
  token(): string;
}
