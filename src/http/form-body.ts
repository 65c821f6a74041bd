import type { FastifyInstance } from 'fastify';
import { InvalidInputError } from '../core/errors.ts';
import { verbOf } from './door.ts';

/** Lets a form through as a stream where the route reads one by itself; elsewhere it is no body (U-002). */
export function addFormBody(app: FastifyInstance): void {
  app.addContentTypeParser('multipart/form-data', { bodyLimit: Number.MAX_SAFE_INTEGER }, (request, payload, done) => {
    const { route } = request.routeOptions.config;
    const verb = route === undefined ? undefined : verbOf(route, request.method);
    if (verb?.body === 'stream') return done(null, payload);
    done(new InvalidInputError('The body must be JSON, announced as Content-Type: application/json.'));
  });
}
