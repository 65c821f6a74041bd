import { Fragment, memo, useMemo, useRef, type MouseEvent, type ReactNode } from 'react';
import { ApprovalCard } from './approval-card.tsx';
import { EndRow } from './end-row.tsx';
import { endPrefix } from '../state/end-line.ts';
import { Icon } from './icon.tsx';
import { intoStretches, turnsOf, type Stretch } from './stretches.ts';
import { looseApprovals } from './approval-place.ts';
import { ownFile } from './own-file.ts';
import { RowView } from './row-view.tsx';
import { TurnFoot } from './turn-foot.tsx';
import { turnOf, type ConsoleState } from '../state/state.ts';
import { useConsole, useStore } from './use-console.ts';
import { useFollowEnd } from './use-follow-end.ts';
import { useKeptPlace } from './use-kept-place.ts';
import type { TurnId } from '../state/row.ts';

/** What was said and done. Nothing of it is spoken by itself (C-072). */
export function Transcript() {
  const store = useStore();
  const rows = useConsole((state) => state.rows);
  const busy = useConsole((state) => turnOf(state) !== null);
  const earlier = useConsole((state) => state.earlier);
  const older = useConsole((state) => state.newest !== null);
  const { scroller, content, following } = useFollowEnd();
  useKeptPlace(scroller, rows, earlier === 'loading');
  /** What an answer names of the session's own files is shown here. */
  const onClick = (event: MouseEvent) => {
    const link = event.target instanceof Element ? event.target.closest('.markdown a') : null;
    const file = link === null ? null : ownFile(store.getState().files, link.getAttribute('href') ?? '');
    if (file === null) return;
    event.preventDefault();
    store.dispatch({ type: 'overlay_opened', overlay: { kind: 'preview', fileId: file.id } });
  };
  return (
    <div className="transcript-frame">
      <div
        ref={scroller}
        className="transcript"
        role="log"
        aria-live="off"
        aria-label="Conversation"
        aria-busy={busy}
        tabIndex={0}
        onClick={onClick}
      >
        <div ref={content} className="column transcript-rows">
          {earlier !== 'none' && (
            <button
              type="button"
              className="quiet-button load-earlier"
              disabled={busy || earlier === 'loading'}
              onClick={() => store.dispatch({ type: 'load_earlier' })}
            >
              {earlier === 'loading' ? 'Loading…' : 'Load earlier'}
            </button>
          )}
          <Turns />
          <LooseApprovals of={null} />
          <TurnFoot />
        </div>
      </div>
      {(!following || older) && rows.length > 0 && (
        <button type="button" className="jump" onClick={() => store.dispatch({ type: 'newest_asked' })}>
          <Icon name="down" />
          Jump to latest
        </button>
      )}
    </div>
  );
}

const canForkNow = ({ phase, session }: ConsoleState) => phase.name === 'ready' && session.kind === 'open';

function Turns(): ReactNode {
  const rows = useConsole((state) => state.rows);
  const opened = useConsole((state) => state.opened);
  const atWork = useConsole((state) => turnOf(state)?.id ?? null);
  const canFork = useConsole(canForkNow);
  const before = useRef<readonly Stretch[]>([]);
  const stretches = useMemo(() => (before.current = intoStretches(rows, before.current)), [rows]);
  const turnBefore = (at: number) => stretches[at - 1]?.rows.at(-1)?.turn ?? null;
  return stretches.map((stretch, at) => (
    <StretchView
      key={stretch.key}
      stretch={stretch}
      turnBefore={turnBefore(at)}
      opened={opened}
      // The rows of the turn at work are the last ones.
      atWork={stretch.rows.at(-1)?.turn === atWork ? atWork : null}
      isLast={at === stretches.length - 1}
      canFork={canFork}
    />
  ));
}

interface StretchViewProps {
  readonly stretch: Stretch;
  /** Whose rows stand before it. */
  readonly turnBefore: TurnId | null;
  readonly opened: ConsoleState['opened'];
  readonly atWork: TurnId | null;
  readonly isLast: boolean;
  readonly canFork: boolean;
}

const StretchView = memo(function StretchView({ stretch: { rows }, turnBefore, opened, ...now }: StretchViewProps) {
  const { atWork, isLast, canFork } = now;
  const newest = isLast ? rows.at(-1) : null;
  return (
    <div className="stretch">
      {turnsOf(rows).map((own, turnAt) => (
        <div key={own[0]?.turn} className={turnAt === 0 && own[0]?.turn === turnBefore ? 'turn turn-rest' : 'turn'}>
          {own.map((row) => {
            const busy = row.turn === atWork;
            if ((row.kind === 'system' || row.kind === 'error') && row.text.startsWith(endPrefix))
              return (
                <Fragment key={row.id}>
                  <LooseApprovals of={row.turn} />
                  <EndRow row={row} canFork={canFork} />
                </Fragment>
              );
            const open = busy && row.kind === 'thinking' ? true : (opened.get(row.id) ?? false);
            return (
              <RowView key={row.id} row={row} open={open} busy={busy} live={busy && row === newest} canFork={canFork} />
            );
          })}
        </div>
      ))}
    </div>
  );
});

/** @param of  A turn that is over: its rows stay as they are. Null: of all else, as it goes on. */
function LooseApprovals({ of }: { readonly of: TurnId | null }): ReactNode {
  const store = useStore();
  useConsole((state) => state.approvals);
  useConsole((state) => (of === null && state.approvals.length > 0 ? state.rows : null));
  return looseApprovals(store.getState(), of).map((card) => (
    <div key={card.approval.id} className="row">
      <ApprovalCard card={card} />
    </div>
  ));
}
