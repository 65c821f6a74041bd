/** A directory below a workspace's root: segments joined by `/`, none of them `..`; `.` is the root itself. */
export type CwdResult = { readonly ok: true; readonly cwd: string } | { readonly ok: false; readonly why: string };

/** The steps of A-015, by the text alone: what lies on the way is for whoever opens it. */
export function parseCwd(given: string): CwdResult {
  // Before trimming: a tab in front is no white space that somebody meant.
  if (hasControl(given)) return refuse('control characters are not allowed');
  const path = given.replaceAll('\\', '/').trim();
  if (/^(\/|[a-z]:)/i.test(path)) return refuse('absolute paths are not allowed');
  const names: string[] = [];
  for (const name of path.split('/')) {
    if (name === '' || name === '.') continue;
    if (name !== '..') names.push(name);
    else if (names.pop() === undefined) return refuse('the path leaves the workspace');
  }
  // What is given back is sent again by clients: it has to be read as the same.
  if (/^[a-z]:/i.test(names[0] ?? '')) return refuse('absolute paths are not allowed');
  return { ok: true, cwd: names.length === 0 ? '.' : names.join('/') };
}

function hasControl(text: string): boolean {
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    if (unit < 0x20 || unit === 0x7f) return true;
  }
  return false;
}

function refuse(why: string): CwdResult {
  return { ok: false, why };
}
