import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['src/**/*.test.ts', 'test/**/*.test.ts', 'interop/**/*.test.ts'],
    testTimeout: 30_000,
    hookTimeout: 30_000,
    // Most of them wait for processes and sockets.
    maxWorkers: '100%',
  },
});
