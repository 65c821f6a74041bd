import { StrictMode, useEffect, useState } from 'react';
import { App } from './app.tsx';
import { browserPlatform } from './run/browser-platform.ts';
import { createConsole, type Console } from './run/console.ts';
import { createRoot } from 'react-dom/client';
import { SignInError, readSession, signIn, signOut, takeTicket, type Session } from './sign-in-requests.ts';
import { SignInForm } from './sign-in-form.tsx';

type Entry =
  | { readonly at: 'asking' }
  | { readonly at: 'door'; readonly problem: string | null }
  | { readonly at: 'inside'; readonly session: Session };

// Once, not in an effect: a ticket works a single time.
const entered = enter();

async function enter(): Promise<Entry> {
  const ticket = takeTicket();
  try {
    return entryOf(ticket === null ? await readSession() : await signIn({ ticket }));
  } catch (cause) {
    const problem = cause instanceof SignInError ? cause.message : 'Something went wrong in this page.';
    // Whoever follows a used link a second time is most likely still signed in by the first.
    const session = ticket === null ? null : await readSession().catch(() => null);
    return session === null ? { at: 'door', problem } : { at: 'inside', session };
  }
}

function entryOf(session: Session | null): Entry {
  return session === null ? { at: 'door', problem: null } : { at: 'inside', session };
}

function Page() {
  const [entry, setEntry] = useState<Entry>({ at: 'asking' });
  useEffect(() => void entered.then(setEntry), []);
  switch (entry.at) {
    case 'asking':
      return <main aria-busy="true" />;
    case 'door':
      return <SignInForm problem={entry.problem} onSignedIn={(session) => setEntry(entryOf(session))} />;
    case 'inside':
      return <Inside session={entry.session} onSignedOut={(problem) => setEntry({ at: 'door', problem })} />;
  }
}

interface InsideProps {
  readonly session: Session;
  /** Null: it was wanted. */
  readonly onSignedOut: (problem: string | null) => void;
}

function Inside({ session: { principal }, onSignedOut }: InsideProps) {
  const [store, setStore] = useState<Console | null>(null);
  useEffect(() => {
    const made = createConsole({
      platform: browserPlatform,
      principal,
      onSignedOut: () => onSignedOut('You have been signed out. Sign in to go on.'),
    });
    setStore(made);
    return () => made.close();
  }, [principal]);
  if (store === null) return <main aria-busy="true" />;
  const leave = () =>
    signOut().then(
      () => onSignedOut(null),
      (cause: unknown) =>
        store.dispatch({ type: 'failed', id: 'sign-out', message: cause instanceof SignInError ? cause.message : '' }),
    );
  return <App store={store} principal={principal} onSignOut={() => void leave()} />;
}

const root = document.querySelector('#root');
if (root !== null)
  createRoot(root).render(
    <StrictMode>
      <Page />
    </StrictMode>,
  );
