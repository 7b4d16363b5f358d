import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig } from 'vite';

// Where `npm run dev` finds a controller; one without tokens, as its own page is served elsewhere.
const controller = process.env.VORTEX_SERVER ?? 'http://127.0.0.1:8080';

// No source is inlined into the page: its content policy allows scripts and styles from files only.
export default defineConfig({
  plugins: [svelte()],
  build: {
    target: 'es2022',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 600,
  },
  worker: { format: 'es' },
  server: { proxy: { '/api': controller, '/metrics': controller } },
});
