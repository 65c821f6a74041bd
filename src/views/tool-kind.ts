/** What a tool does, for display and for the word on the directory it worked in. */
export type ToolKind = 'read' | 'list' | 'search' | 'write' | 'edit' | 'command' | 'http' | 'other';

const names: Readonly<Record<Exclude<ToolKind, 'other'>, readonly string[]>> = {
  read: ['readfile', 'read', 'view', 'notebookread'],
  list: ['listfiles', 'list', 'ls', 'listdirectory', 'listdir'],
  search: ['glob', 'grep', 'find', 'search', 'searchfiles'],
  write: ['writefile', 'write', 'createfile'],
  edit: ['editfile', 'edit', 'multiedit', 'notebookedit', 'applypatch', 'patch', 'filechange', 'replace'],
  command: ['bash', 'shell', 'exec', 'execcommand', 'command', 'commandexecution', 'runcommand', 'runshellcommand'],
  http: ['fetchurl', 'webfetch', 'fetch', 'httprequest'],
};
const kinds = new Map(
  (['read', 'list', 'search', 'write', 'edit', 'command', 'http'] as const).flatMap((kind) =>
    names[kind].map((name) => [name, kind] as const),
  ),
);

/** By the name that it has with any of the harnesses: `read_file`, `Read`, `readFile`. */
export function toolKindOf(name: string): ToolKind {
  return kinds.get(name.toLowerCase().replaceAll(/[_\-. ]/g, '')) ?? 'other';
}

/** Whether it works in a directory. */
export function usesFiles(name: string): boolean {
  const kind = toolKindOf(name);
  return kind !== 'http' && kind !== 'other';
}
