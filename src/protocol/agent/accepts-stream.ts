/** Whether an `Accept` header asks for the stream: one of its items is the very type, and not refused by its weight. */
export function acceptsStream(accept: string | undefined): boolean {
  return (accept ?? '').split(',').some((item) => {
    const [type = '', ...parameters] = item.split(';').map((part) => part.trim().toLowerCase());
    return type === 'text/event-stream' && !parameters.some((each) => /^q\s*=\s*0(\.0*)?$/.test(each));
  });
}
