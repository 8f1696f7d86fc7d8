import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vite'

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url))

/** The script of the payment page, as one file that stands inside the page: a 402 must not depend on another address. */
export default defineConfig({
  root: here('.'),
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    outDir: here('../../dist/ui/pay'),
    emptyOutDir: true,
    target: 'es2022',
    lib: { entry: here('main.tsx'), formats: ['iife'], name: 'pay', fileName: () => 'pay.js' },
    reportCompressedSize: false,
  },
})
