import { createMarkdownView, type MarkdownView } from '../markdown/create-markdown-view.ts';
import { useLayoutEffect, useRef } from 'react';

/** @param live  Whether more of it is to come. */
export function MarkdownBlock({ text, live }: { readonly text: string; readonly live: boolean }) {
  const block = useRef<HTMLDivElement>(null);
  const view = useRef<MarkdownView>(null);
  useLayoutEffect(() => {
    if (block.current === null) return;
    const made = createMarkdownView(block.current);
    view.current = made;
    return () => made.destroy();
  }, []);
  useLayoutEffect(() => {
    if (live) view.current?.update(text);
    else view.current?.finish(text);
  }, [text, live]);
  return <div ref={block} />;
}
