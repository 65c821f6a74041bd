/**
 * Takes where a workspace lies out of a text: paths into it become those that its turn would write, from the directory that it
 * works in. Tools of other runtimes are called with absolute ones.
 */
export function shortensPaths(workspace: string | null, cwd: string): (text: string) => string {
  if (workspace === null) return (text) => text;
  const own = cwd === '.' ? workspace : `${workspace}/${cwd}`;
  const up = cwd === '.' ? '.' : cwd.replaceAll(/[^/]+/g, '..');
  const [inOwn, inWorkspace] = [within(own), within(workspace)];
  return (text) =>
    text
      .replaceAll(inOwn, (_found, slash?: string) => (slash === undefined ? '.' : ''))
      .replaceAll(inWorkspace, (_found, slash = '') => up + slash);
}

/** With the slash where a name follows; not where it is the beginning of another name. */
function within(path: string): RegExp {
  return new RegExp(
    `${path.replaceAll(/[$()*+.?[\\\]^{|}]/g, String.raw`\$&`)}(?:(/)(?=[^\\s"'])|/?(?![\\w-]|\\.\\w))`,
    'g',
  );
}
