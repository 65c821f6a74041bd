import { exportHarness, readPluginFiles, readSkillFiles } from '../../tasks/read-bundles.ts';
import { idOf, type Call, type Route } from '../route.ts';
import { toUhpPlugin, type UhpFileList, type UhpPlugin } from '../../protocol/uhp/plugin.ts';
import type { Services } from '../../tasks/services.ts';

/** What a harness was given, file by file, and what it gives away (U-069, UP-02, UP-03). */
export function harnessBundleRoutes(services: Services): readonly Route[] {
  return [
    {
      path: '/v1/harnesses/:id/skills/:name/files',
      verbs: {
        GET: {
          scope: 'read',
          handle: async (call): Promise<UhpFileList> => ({
            files: await readSkillFiles(services, call.caller.principal, bundleOf(call)),
          }),
        },
      },
    },
    {
      path: '/v1/harnesses/:id/plugins/:name/files',
      verbs: {
        GET: {
          scope: 'read',
          handle: async (call): Promise<UhpFileList> => ({
            files: await readPluginFiles(services, call.caller.principal, bundleOf(call)),
          }),
        },
      },
    },
    {
      path: '/v1/harnesses/:id/plugin',
      verbs: {
        GET: {
          scope: 'read',
          async handle(call): Promise<UhpPlugin> {
            const { files, ...plugin } = await exportHarness(services, call.caller.principal, idOf(call));
            return toUhpPlugin(plugin, { enabled: true, files });
          },
        },
      },
    },
  ];
}

function bundleOf(call: Call): { readonly harnessId: string; readonly name: string } {
  return { harnessId: idOf(call), name: call.request.params['name'] ?? '' };
}
