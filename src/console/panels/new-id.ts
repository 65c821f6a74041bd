/** Unguessable. Pages that come over plain HTTP have no `crypto.randomUUID`. */
export function newId(): string {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}
