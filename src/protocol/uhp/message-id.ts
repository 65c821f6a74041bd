import * as z from 'zod';

/** A caller's own id for a message, so that it can be sent again (UR-33). */
export const messageId = z
  .string('must be a string')
  .regex(/^[\x21-\x7e]{1,255}$/, 'must be 1 to 255 visible ASCII characters')
  .nullish();
