// Serves the page and passes what it asks for on to Reins, with a key that the browser never sees: REINS_URL and REINS_API_KEY.

import { defineConfig, loadEnv, type ProxyOptions } from 'vite';

export default defineConfig(({ mode }) => {
  const { REINS_URL: target = 'http://127.0.0.1:4242', REINS_API_KEY: key = '' } = loadEnv(mode, '.', 'REINS_');
  const proxy: Record<string, ProxyOptions> = {
    '/api/chat': { target, headers: { authorization: `Bearer ${key}` } },
  };
  return { root: import.meta.dirname, server: { proxy }, preview: { proxy } };
});
