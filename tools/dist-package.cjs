/**
 * Writes dist/package.json, by which the compiled program finds its own files: the `imports` of package.json with .js in
 * place of .ts, which TypeScript rewrites in relative paths only; and puts the verifier beside it, as it is.
 */
const { cpSync, writeFileSync } = require('node:fs')
const { type, imports } = require('../package.json')

const compiled = Object.entries(imports).map(([name, target]) => [name, target.replace(/\.tsx?$/, '.js')])
cpSync('verifier', 'dist/verifier', { recursive: true })
writeFileSync('dist/package.json', `${JSON.stringify({ type, imports: Object.fromEntries(compiled) }, null, 2)}\n`)
