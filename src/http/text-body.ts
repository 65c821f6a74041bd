import type { FastifyInstance } from 'fastify';

/** Reads any body as the text that it is, however it is announced: its route parses it, and has words of its own for it. */
export function addTextBody(scope: FastifyInstance): FastifyInstance {
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser<string>('*', { parseAs: 'string' }, (_request, body, done) => done(null, body));
  return scope;
}
