import { markdownPart } from './page-parts.ts';
import { useLayoutEffect, useRef } from 'react';
import { usePart } from './part.ts';
import { usePictures } from './use-pictures.ts';
import type { MarkdownView } from '../markdown/create-markdown-view.ts';

interface MarkdownBlockProps {
  readonly text: string;
  /** Whether more of it is to come. */
  readonly live: boolean;
}

/** Plain until what reads markdown is there. */
export function MarkdownBlock({ text, live }: MarkdownBlockProps) {
  const part = usePart(markdownPart);
  return part === null ? (
    <div className="markdown plain-text">{text.trim()}</div>
  ) : (
    <Formatted text={text} live={live} create={part.createMarkdownView} />
  );
}

interface FormattedProps extends MarkdownBlockProps {
  readonly create: (element: HTMLElement) => MarkdownView;
}

function Formatted({ text, live, create }: FormattedProps) {
  const block = useRef<HTMLDivElement>(null);
  const view = useRef<MarkdownView>(null);
  useLayoutEffect(() => {
    if (block.current === null) return;
    const made = create(block.current);
    view.current = made;
    return () => made.destroy();
  }, [create]);
  useLayoutEffect(() => {
    if (live) view.current?.update(text);
    else view.current?.finish(text);
  }, [text, live]);
  usePictures(block, live ? null : text);
  return <div ref={block} />;
}
