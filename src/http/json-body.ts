import type { FastifyInstance } from 'fastify';
import { InvalidInputError } from '../core/errors.ts';

/**
 * Reads JSON bodies: an empty one counts as none, also where it is announced as JSON; `__proto__` and
 * `constructor.prototype` are dropped, as unknown fields are no ground for a refusal (U-201).
 */
export function addJsonBody(app: FastifyInstance): void {
  const parse = app.getDefaultJsonParser('remove', 'remove');
  app.removeAllContentTypeParsers();
  app.addContentTypeParser<string>('application/json', { parseAs: 'string' }, (request, body, done) => {
    if (body.trim() === '') return done(null, undefined);
    void parse(request, body, (error, value) => {
      // The parser's own message repeats a piece of the body.
      if (error !== null) return done(new InvalidInputError('The body is not valid JSON.'));
      done(null, value);
    });
  });
}
