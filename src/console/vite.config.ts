// Builds the page for a server that lets it load nothing but its own files (C-062), and serves it while it is worked on:
// `npm run dev:console` beside a running server, at REINS_URL if that is not the usual address.

import { defineConfig, loadEnv } from 'vite';

export default defineConfig(({ mode }) => {
  const { REINS_URL: server = 'http://127.0.0.1:4242' } = loadEnv(mode, '.', 'REINS_');
  return {
    root: import.meta.dirname,
    build: {
      outDir: '../../dist/console',
      emptyOutDir: true,
      // Inlined files are `data:` addresses, which the policy forbids.
      assetsInlineLimit: 0,
      // What comes later needs nothing but what is there by then.
      modulePreload: {
        polyfill: false,
        resolveDependencies: (_file, names, { hostType }) => (hostType === 'html' ? names : []),
      },
      license: { fileName: 'licenses.md' },
      // How long plugins take is nothing that whoever starts a server could mend.
      rolldownOptions: { checks: { bundlerTimings: false } },
    },
    // The page's own name goes along, so that cookies and origins are those of the page.
    server: { proxy: { '^/(v1|api)/': { target: server, changeOrigin: false } } },
  };
});
