import { ReinsError } from '../../core/errors.ts';

const name = 'AI_HarnessCapabilityUnsupportedError';
const marker = Symbol.for(`vercel.ai.error.${name}`);

/** The host asks for what cannot be done here; it knows the error by its name and mark (P-081). */
export class HarnessV1UnsupportedError extends ReinsError {
  readonly [marker] = true;
  override get name(): string {
    return name;
  }
}
