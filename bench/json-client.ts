import { connect } from 'node:net';
import { benchKey } from './bench-key.ts';

export interface JsonRequest {
  readonly port: number;
  readonly method?: 'GET' | 'PUT' | 'POST';
  readonly path: string;
  readonly body?: string;
}

/** A connection that is kept: asks, waits for the whole answer, and asks again. */
export interface JsonClient extends Disposable {
  send(request: Omit<JsonRequest, 'port'>): Promise<string>;
}

const endOfHead = '\r\n\r\n';

export function openJsonClient(port: number): JsonClient {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  let answered: PromiseWithResolvers<string> | null = null;
  let text = '';
  socket.setEncoding('latin1').on('data', (piece: string) => {
    text += piece;
    const head = text.indexOf(endOfHead);
    if (head === -1) return;
    const length = Number(/content-length: (\d+)/i.exec(text)?.[1] ?? 0);
    if (text.length < head + endOfHead.length + length) return;
    const body = text.slice(head + endOfHead.length);
    const failed = !text.startsWith('HTTP/1.1 200');
    text = '';
    if (failed) answered?.reject(new Error(body));
    else answered?.resolve(body);
  });
  socket.on('close', () => answered?.reject(new Error('The connection was closed.')));
  return {
    send({ method = 'GET', path, body = '' }) {
      answered = Promise.withResolvers();
      const type =
        body === '' ? '' : `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n`;
      socket.write(`${method} ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${benchKey}\r\n${type}\r\n${body}`);
      return answered.promise;
    },
    [Symbol.dispose]: () => void socket.destroy(),
  };
}
