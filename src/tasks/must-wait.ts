import type { UnfinishedRun } from '../stores/store.ts';

/** A parked run goes on once nothing is open any more and no pause holds it, or to be cancelled (E-601). */
export function mustWait({
  phase,
  control,
  openApprovals,
}: Pick<UnfinishedRun, 'phase' | 'control' | 'openApprovals'>): boolean {
  if (control === 'cancel') return false;
  return phase === 'paused' || (phase === 'waiting' && (openApprovals > 0 || control === 'pause'));
}
