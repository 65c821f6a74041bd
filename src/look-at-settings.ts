// What the settings name and this machine does not have: told once at the start, and by `reins doctor`. Looks at files only.

import { dirname, resolve } from 'node:path';
import { existsSync, statSync } from 'node:fs';
import { beware, well, wrong, type Finding } from './finding.ts';
import { findProgram } from './process/find-program.ts';
import { hostEnvironment, type Config } from './config.ts';
import type { Catalogue } from './engine/models/catalogue.ts';

/** Each with the key that names it. Of folders and models only what is not right. */
export function lookAtSettings(config: Config, catalogue: Catalogue): readonly Finding[] {
  return [...programFindings(config), ...folderFindings(config), ...modelFindings(config, catalogue)];
}

function programFindings({ agent, files, harnesses, server, settingsFile }: Config): readonly Finding[] {
  const named = [
    ...(files.converter === null ? [] : [{ what: 'files.converter', program: files.converter }]),
    ...Object.entries(harnesses.programs).map(([base, program]) => ({ what: `harnesses.programs.${base}`, program })),
    ...agent.mcp.flatMap(({ disabled, ...mcp }) =>
      mcp.transport === 'stdio' && disabled !== true
        ? [{ what: `MCP server ${mcp.name}`, program: mcp.command, cwd: mcp.cwd, path: mcp.env?.['PATH'] }]
        : [],
    ),
  ];
  return named.map(({ what, program, ...place }) => {
    const { cwd = server.dataDir, path = hostEnvironment()['PATH'] } = { ...place };
    const found = /[\\/]/.test(program) ? existsSync(resolve(cwd, program)) : findProgram(program, path) !== null;
    if (found) return well(what, `${program} is there.`);
    return wrong(what, `the program ${program} that ${settingsFile} names is not there: install it.`);
  });
}

function folderFindings({ agent, settingsFile }: Config): readonly Finding[] {
  const { template, templates, skills, workspace } = agent;
  const missing = (path: string) => `${settingsFile} names ${path}, which is no folder.`;
  const listed = (key: string, paths: readonly string[]) =>
    paths.filter((path) => !isFolder(path)).map((path) => beware(key, missing(path)));
  return [
    ...(template === null || isFolder(template) ? [] : [wrong('agent.template', missing(template))]),
    ...listed('agent.templates', templates),
    ...listed('agent.skills', skills),
    ...(workspace === null || canBeFolder(workspace)
      ? []
      : [wrong('agent.workspace', `${missing(workspace)} None can be made there either.`)]),
  ];
}

/** Tasks name models otherwise too, but it is the canonical name that is compared. */
function modelFindings(
  { limits, models: { providers }, settingsFile }: Config,
  catalogue: Catalogue,
): readonly Finding[] {
  const lists = [
    { key: 'limits.models', models: limits.models },
    ...Object.entries(limits.principals).map(([principal, { models = null }]) => ({
      key: `limits.principals.${principal}.models`,
      models,
    })),
  ];
  const listed = new Set(catalogue.list().map(({ id }) => id));
  // A credential may come later; a name that is none stays so.
  const faultOf = (name: string) => {
    const choice = catalogue.choose(name);
    if (choice.id !== name) return `It is compared as '${choice.id}': write that.`;
    const isServed = listed.has(name) || providers.some((provider) => name.startsWith(`${provider}/`));
    return choice.available || isServed ? null : choice.why;
  };
  return lists.flatMap(({ key, models }) =>
    (models ?? []).flatMap((name) => {
      const fault = faultOf(name);
      return fault === null ? [] : [beware(key, `${settingsFile} names '${name}'. ${fault}`)];
    }),
  );
}

const isFolder = (path: string) => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;

/** It is made on first use. */
function canBeFolder(path: string): boolean {
  let there = path;
  while (!existsSync(there) && dirname(there) !== there) there = dirname(there);
  return isFolder(there);
}
