import { useEffect, useState } from 'react';
import { IconButton } from './icon-button.tsx';

const toldForMs = 2_000;

/** @param text  Asked for when it is wanted, as it may be long. */
export function CopyButton({ text, label = 'Copy' }: { readonly text: () => string; readonly label?: string }) {
  const [told, setTold] = useState<'copied' | 'refused' | null>(null);
  useEffect(() => {
    if (told === null) return;
    const timer = setTimeout(() => setTold(null), toldForMs);
    return () => clearTimeout(timer);
  }, [told]);
  const copy = async () => setTold((await copied(text())) ? 'copied' : 'refused');
  const said = told === null ? label : told === 'copied' ? 'Copied' : 'The browser does not allow it';
  return <IconButton icon={told === 'copied' ? 'check' : 'copy'} label={said} onClick={() => void copy()} />;
}

/** Pages that come over plain HTTP have no clipboard but the old command. */
async function copied(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const field = document.createElement('textarea');
    const before = document.activeElement;
    field.value = text;
    document.body.append(field);
    field.select();
    const done = document.execCommand('copy');
    field.remove();
    if (before instanceof HTMLElement) before.focus();
    return done;
  }
}
