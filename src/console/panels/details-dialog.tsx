import { Dialog } from './dialog.tsx';
import { costText, tookText, spentText, usageText } from '../state/usage.ts';
import { useConsole } from './use-console.ts';

/** What is told of a turn beside its rows. */
export function DetailsDialog({ onClose }: { readonly onClose: () => void }) {
  const last = useConsole((state) => state.lastTurn);
  const total = useConsole((state) => state.spent);
  if (last === null) return null;
  const { details, spent, responseId } = last;
  const facts = [
    ['Model', details.model],
    ['Took', tookText(last)],
    ['Calls', String(details.calls)],
    ['Tokens', usageText(spent) ?? 'not counted'],
    ['Cost', costText(spent) ?? 'no price is known'],
    ['The session so far', spentText(total)],
    ['Response', responseId],
  ] as const;
  return (
    <Dialog title="The last turn" onClose={onClose}>
      <dl className="facts">
        {facts.map(([name, value]) =>
          value === null ? null : (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ),
        )}
      </dl>
      <Lines title="What happened beside" lines={details.notes} />
      <Lines title="Files changed" lines={details.files} />
    </Dialog>
  );
}

function Lines({ title, lines }: { readonly title: string; readonly lines: readonly string[] }) {
  if (lines.length === 0) return null;
  return (
    <section>
      <h3>{title}</h3>
      <ul className="lines">
        {lines.map((line, at) => (
          <li key={at}>{line}</li>
        ))}
      </ul>
    </section>
  );
}
