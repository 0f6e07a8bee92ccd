/**
 * `node tools/run.cjs src/cli/main.ts --help`: runs a program of the product as it is compiled, which starts much faster
 * than its sources do. What is missing in dist/, or older than the sources, is compiled first.
 */
const { resolve } = require('node:path')
const { pathToFileURL } = require('node:url')
const { build, compiledOf } = require('./compiled.cjs')

const [source] = process.argv.splice(2, 1)
build()
process.argv[1] = resolve(compiledOf(source))
import(pathToFileURL(process.argv[1]).href)
