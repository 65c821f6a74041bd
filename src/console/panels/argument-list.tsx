import { LongText } from './long-text.tsx';
import type { ShownArguments } from '../state/call-arguments.ts';

/** What a call is made with, each by its name. */
export function ArgumentList({ entries }: Pick<ShownArguments, 'entries'>) {
  if (entries.length === 0) return null;
  return (
    <dl className="arguments">
      {entries.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>
            <LongText text={value} />
          </dd>
        </div>
      ))}
    </dl>
  );
}
