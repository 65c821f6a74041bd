import { useLayoutEffect, useRef } from 'react';

/** @param live  Whether more of it is to come. */
export function MarkdownBlock({ text }: { readonly text: string; readonly live: boolean }) {
  const block = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    if (block.current !== null) block.current.textContent = text;
  }, [text]);
  return <div ref={block} className="markdown markdown-plain" />;
}
