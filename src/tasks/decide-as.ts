import { appendAudit, type AuditFact } from './append-audit.ts';
import { decideApproval, type Verdict } from './decide-approval.ts';
import type { Services } from './services.ts';

/** Who asks, and in which request. */
export type Asker = Pick<AuditFact, 'principal' | 'keyId' | 'requestId'>;

/** A decision that comes with something else is written down like one that comes alone (UR-54). @throws RequestError */
export async function decideAs(
  services: Services,
  asker: Asker,
  said: { readonly approvalId: string; readonly verdict: Verdict },
): Promise<void> {
  await decideApproval(services, asker.principal, said);
  await appendAudit(services, { ...asker, action: `approval.${said.verdict.verb}`, object: said.approvalId });
}
