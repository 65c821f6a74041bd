import { expect, test } from 'vitest';
import { nativeReason } from './native-reason.ts';

test.each([
  [
    'Namespace elsewhere was not found or otherwise could not be described: Status { code: NotFound, message: "Namespace elsewhere is not found.", details: b"\\x08\\x05", source: None }',
    'Namespace elsewhere is not found',
  ],
  [
    new Error(
      'tonic::transport::Error(Transport, ConnectError(ConnectError("tcp connect error", 127.0.0.1:9, Os { code: 111, kind: ConnectionRefused, message: "Connection refused" })))',
    ),
    'Connection refused',
  ],
  [new Error('Custom { kind: InvalidData, error: "a \\"name\\" of nobody" }'), 'a "name" of nobody'],
  [new TypeError('x is not a function'), null],
])('of nested native errors the last one is told: %s', (cause, reason) => {
  expect(nativeReason(cause)).toBe(reason);
});
