// Loaded before dependency-cruiser, whose swc parser takes every file for TypeScript without JSX: told by its name, swc reads
// the pages (*.tsx) too, so that the folder rules hold for them as for everything else.
const swc = require('@swc/core')

const { parseFileSync } = swc
swc.parseFileSync = (file, options) => parseFileSync(file, { ...options, tsx: file.endsWith('.tsx') })
