/** Why an agent cannot be sent to this address (UP-32), in one sentence; null: it can. */
export function serverUrlFault(text: string): string | null {
  const fault = remoteUrlFault(text);
  if (fault !== null) return fault;
  const url = new URL(text);
  if (text.includes('#')) return 'Its url has a fragment.';
  if (url.protocol === 'https:' || /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(url.hostname)) return null;
  return 'Its url is plain http, to another machine.';
}

/** The same for a server that a harness is given directly (U-110): it may be one of the operator's own network. */
export function remoteUrlFault(text: string): string | null {
  const url = URL.parse(text);
  if (url === null || !/^https?:\/\/[^\s\p{Cc}]+$/iu.test(text)) return 'Its url is no absolute http or https URL.';
  return url.username === '' && url.password === '' ? null : 'Its url has credentials in it.';
}

/** Why these cannot be sent as headers, in one sentence; null: they can. */
export function headersFault(headers: Readonly<Record<string, string>>): string | null {
  const names = Object.keys(headers);
  if (!names.every((name) => /^[!#$%&'*+.^_`|~\w-]+$/.test(name))) return 'A header has no such name.';
  if (new Set(names.map((name) => name.toLowerCase())).size < names.length) return 'Two headers have the same name.';
  return Object.values(headers).every(isHeaderValue) ? null : 'A header has no such value.';
}

export function isHeaderValue(value: string): boolean {
  return /^[\t\x20-\x7e\x80-\xff]*$/.test(value);
}
