/** The first and the last bytes of a stream of any length, in flat memory. */
export interface KeptEnds {
  add(chunk: Uint8Array): void;
  /** Well-formed text; where bytes are missing, a line in between says how many. */
  text(): string;
}

/** Keeps at most `maxBytes`, half of them from each end. */
export function keepEnds(maxBytes: number): KeptEnds {
  const capacity = Math.ceil(maxBytes / 2);
  const head = Buffer.alloc(capacity);
  // Written round and round: a list of chunks would cost more than its bytes when they come one by one.
  const ring = Buffer.alloc(capacity);
  let total = 0;
  const addToRing = (chunk: Uint8Array) => {
    const kept = chunk.subarray(-capacity);
    const at = (total + chunk.length - kept.length) % capacity;
    const first = kept.subarray(0, capacity - at);
    ring.set(first, at);
    ring.set(kept.subarray(first.length), 0);
  };
  return {
    add(chunk) {
      const start = chunk.subarray(0, Math.max(0, capacity - total));
      if (start.length > 0) head.set(start, total);
      total += start.length;
      const rest = chunk.subarray(start.length);
      if (rest.length > 0) addToRing(rest);
      total += rest.length;
    },
    text() {
      if (total <= 2 * capacity)
        return decode(Buffer.concat([head.subarray(0, total), ring.subarray(0, Math.max(0, total - capacity))]));
      const at = total % capacity;
      const start = withoutCutEnd(head);
      const end = withoutCutStart(Buffer.concat([ring.subarray(at), ring.subarray(0, at)]));
      return `${decode(start)}\n[… ${total - start.length - end.length} bytes left out …]\n${decode(end)}`;
    },
  };
}

const decode = (bytes: Uint8Array) => new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
const isContinuation = (byte: number | undefined) => byte !== undefined && (byte & 0xc0) === 0x80;

/** A character has at most three bytes after its first. */
function withoutCutStart(bytes: Uint8Array): Uint8Array {
  let from = 0;
  while (from < 3 && isContinuation(bytes[from])) from++;
  return bytes.subarray(from);
}

function withoutCutEnd(bytes: Uint8Array): Uint8Array {
  let last = bytes.length - 1;
  while (last > bytes.length - 4 && isContinuation(bytes[last])) last--;
  const first = bytes[last] ?? 0;
  const length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 1;
  return length > bytes.length - last ? bytes.subarray(0, last) : bytes;
}
