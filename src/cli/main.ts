import * as nodeModule from 'node:module'
import { parseCommandLine, usageFor, WrongUsage } from './arguments.ts'

/** Node 22 and later keep compiled code between commands; a folder that cannot be written is passed over. */
const { enableCompileCache } = nodeModule as { readonly enableCompileCache?: () => unknown }
enableCompileCache?.()
// Node 20 has none, and the Postgres driver would load `fetch` to see where it runs: 60 ms.
if (!('navigator' in globalThis)) Object.assign(globalThis, { navigator: { userAgent: 'Node.js' } })

process.exitCode = await main(process.argv.slice(2))

/** Runs a command line. Returns the exit code: 0 success, 1 refused or failed, 2 wrong usage. */
async function main(args: readonly string[]): Promise<number> {
  const json = args.includes('--json')
  const words = args.filter((word) => word !== '--json')
  if (words[0] === 'help' || words.includes('--help')) {
    console.log(usageFor(words.filter((word) => word !== 'help' && word !== '--help')))
    return 0
  }
  try {
    const { name, values } = parseCommandLine(words)
    // Loaded late, so that usage and syntax errors appear at once.
    const { perform } = await import('./perform.ts')
    return await perform(name, values, json)
  } catch (error) {
    if (!(error instanceof WrongUsage)) throw error
    console.error(`${error.message}\n\n${error.usage}`)
    return 2
  }
}
