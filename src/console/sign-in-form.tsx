import { useState, type SubmitEvent } from 'react';
import { Brand } from './panels/brand.tsx';
import { SignInError, signIn, type Session } from './sign-in-requests.ts';
import { useFocused } from './panels/use-focused.ts';

/** @param problem  Why the person has to sign in though they followed a link; null: there is nothing to say. */
export function SignInForm({
  problem,
  onSignedIn,
}: {
  readonly problem: string | null;
  readonly onSignedIn: (session: Session | null) => void;
}) {
  const field = useFocused<HTMLInputElement>();
  const [refusal, setRefusal] = useState(problem);
  const [isBusy, setBusy] = useState(false);
  const submit = async (event: SubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    const key = new FormData(event.currentTarget).get('key');
    setBusy(true);
    setRefusal(null);
    try {
      onSignedIn(await signIn({ key: typeof key === 'string' ? key.trim() : '' }));
    } catch (cause) {
      setRefusal(cause instanceof SignInError ? cause.message : 'Something went wrong in this page.');
    } finally {
      setBusy(false);
    }
  };
  return (
    <main className="sign-in">
      <h1>
        <Brand />
        Reins
      </h1>
      <form onSubmit={(event) => void submit(event)}>
        {/* Whoever keeps passwords wants to know whose this is. */}
        <input type="text" name="username" autoComplete="username" value="Reins" readOnly hidden />
        <label htmlFor="key">API key</label>
        <input
          id="key"
          name="key"
          type="password"
          autoComplete="current-password"
          spellCheck={false}
          required
          ref={field}
        />
        <p className="hint">
          The first start of a server prints one and leaves it in the file <code>key</code> of its data folder:{' '}
          <code>~/.reins/key</code>, or <code>.reins/key</code> for <code>npm start</code>. Another is made by{' '}
          <code>reins keys create</code>; in the repository <code>npx reins keys create --data .reins</code>.
        </p>
        {refusal === null ? null : <p role="alert">{refusal}</p>}
        <button type="submit" className="primary" disabled={isBusy}>
          Sign in
        </button>
      </form>
    </main>
  );
}
