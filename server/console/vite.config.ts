import { defineConfig } from 'vite';

export default defineConfig({
  base: '/console/',
  build: {
    outDir: 'dist/app',
    emptyOutDir: true,
    target: 'es2022',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    license: { fileName: 'licences.md' },
  },
  // For `npx vite` with a running coordinator; set its address with FOLKMOOT_URL.
  server: { proxy: { '/v1': { target: process.env['FOLKMOOT_URL'] ?? 'https://127.0.0.1:8443', secure: false } } },
});
