/**
 * Text that grows by small pieces. A plain string would be a rope of all of them until somebody reads it: five times the
 * memory of its text, and all of it for the garbage collector to carry along.
 */
export class GrowingText {
  #whole = '';
  #pieces: string[] = [];

  get whole(): string {
    if (this.#pieces.length > 0) this.#join();
    return this.#whole;
  }

  append(piece: string): void {
    if (this.#pieces.push(piece) === piecesAtOnce) this.#join();
  }

  #join(): void {
    this.#whole += this.#pieces.join('');
    this.#pieces = [];
  }
}

const piecesAtOnce = 64;
