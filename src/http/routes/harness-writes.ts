import { createHarness, updateHarness } from '../../tasks/write-harness.ts';
import { deleteHarness } from '../../tasks/delete-harness.ts';
import { harnessAnswer } from './harness-answer.ts';
import { idOf, type Verb } from '../route.ts';
import { parseHarnessWrite } from '../../protocol/uhp/harness-write.ts';
import type { Services } from '../../tasks/services.ts';

/** 200, as all that is made here. */
export function harnessCreation(services: Services): Verb {
  return {
    scope: 'manage',
    audit: 'harness.create',
    handle: async ({ caller, request }) =>
      harnessAnswer(await createHarness(services, caller.principal, parseHarnessWrite(request.body))),
  };
}

/** What changes one harness. */
export function harnessWrites(services: Services): { readonly PUT: Verb; readonly DELETE: Verb } {
  return {
    PUT: {
      scope: 'manage',
      audit: 'harness.update',
      async handle(call) {
        const change = { harnessId: idOf(call), body: parseHarnessWrite(call.request.body) };
        return harnessAnswer(await updateHarness(services, call.caller.principal, change));
      },
    },
    DELETE: {
      scope: 'manage',
      audit: 'harness.delete',
      handle: async (call) => ({
        id: await deleteHarness(services, call.caller.principal, idOf(call)),
        deleted: true,
      }),
    },
  };
}
