import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseSync } from '@swc/core'
import { isSafePattern } from 'redos-detector'

const FOLDERS = ['src', 'commands', 'projections', 'queries']

/**
 * Patterns whose time may grow faster than their text, by the file's path and a part of the pattern, and why none is a
 * way to stop the process. All others are linear.
 */
const JUSTIFIED: readonly (readonly [path: string, part: string, reason: string])[] = [
  ['src/access/login-limits.ts', '^(?:([\\d.]+)|', 'the address of a socket'],
  ['src/api/api-v1.ts', '\\/catalog\\/items', 'each start ends at the next slash'],
  ['src/api/handlers.ts', '\\/(:|by-external', 'paths of our own routes'],
  ['src/api/docs/', '', 'texts of our own guides'],
  ['src/api/v1/item-routes.ts', '([0-9a-f]{64})', 'our own address of a picture'],
  ['src/api/contract/', '', 'names of our own contract'],
  ['src/cli/perform.ts', '\\[\\d+\\]', 'paths of our own schemas'],
  ['src/config/setting-values.ts', '\\/+$', 'a setting'],
  ['src/domain/person-values.ts', '\\.?0+$', 'stored decimals'],
  ['src/domain/text.ts', '*0[^', 'codes of at most 40 characters'],
  ['src/domain/instant.ts', '("(?:[a-z_]+_at', 'our own JSON: each start ends at the next quote'],
  ['src/domain/text.ts', '(?<=[0-9#*])', 'names, whose length is checked before'],
  ['src/domain/text.ts', '^(.*)\\.(0+)$', 'phones, of at most 100 characters'],
  ['src/http/assets.ts', '', 'our own style sheets'],
  ['src/http/bodies.ts', 'boundary', 'a header; each start ends at the next semicolon'],
  ['src/http/bodies.ts', 'name', 'a header of at most 2 KB'],
  ['src/panel/import/encoding.ts', '\\S*$', 'pieces of at most 20 characters'],
  ['src/panel/import/workbook.ts', '"[^"]*"', 'number formats of at most 255 characters'],
  ['src/integrity/time-stamp-token.ts', 'BEGIN', 'a file of the operator'],
  ['src/integrity/note.ts', 'BEGIN', 'a file of the operator'],
  ['src/integrity/verify.ts', '\\ud', 'only the first backslash of a run starts'],
  ['src/lib/json.ts', '"(?:[^"', 'valid JSON, in which every text is closed'],
  ['src/lib/errors.ts', 'file:', 'our own stacks'],
  ['src/postgres/cluster.ts', 'postgres', 'a setting'],
  ['src/postgres/servers.ts', 'timeout expired', 'messages of Postgres'],
  ['src/service/service.ts', '', 'the first 2,000 characters of a message'],
  ['src/panel/record-history.tsx', 'Created', 'names of event types'],
  ['src/panel/forms/panel-form.ts', '\\[\\d+\\]', 'paths of our own schemas'],
  ['src/domain/prices.ts', '\\.?0+$', 'a number of at most 30 characters'],
  ['src/panel/import/nfe-file.ts', 'encoding', 'the first 200 characters of a file'],
  ['src/panel/import/import-lines.ts', '', 'cells, of which 2,000 characters are read'],
  ['src/panel/import/import-doubts.ts', '', 'cells and titles, of which 120 characters are read'],
  ['src/panel/import/column-titles.ts', '', 'titles of at most 200 characters; each start ends at the next bracket'],
  ['src/panel/pages/inventory-counts.tsx', '^(\\S+?)', 'lines of at most 300 characters'],
  ['src/panel/pages/record-refused.tsx', '\\[(\\d+)\\]', 'paths of our own schemas'],
  ['src/panel/pages/uploaded-sale-pages.tsx', '(?<![\\d.,"])', 'our own messages'],
  ['src/panel/pages/start-sales.tsx', ',?0+$', 'a formatted number'],
  ['src/panel/static/passkey.js', '=+$', 'runs in the browser'],
  ['src/public/receipt/static/', '', 'runs in the browser'],
  ['src/service/contracts.ts', '', 'our own addresses'],
  ['queries/tables.ts', '"(cost|unit_cost|total_cost|former_cost)"', 'JSON that we wrote'],
  ['queries/reader.ts', '', 'our own SQL'],
]

/** Where texts of callers are read. Settings, command lines and stored events are the operator's and our own. */
const CALLERS = /^(?:commands|queries|src\/(?:domain|http|api|access|till-sync|public|panel))\//
/** Shapes of answers, which read nothing. */
const ANSWERS = ['src/api/contract/generators.ts', 'src/till-sync/till-answers.ts']

/** Preprocessing sees texts of any length; what these files preprocess is checked there, or is no text. */
const PREPROCESSING = new Set([
  'src/http/paths.ts',
  'commands/offline-sale-input.ts',
  'commands/offline-sale-input.ts',
  'src/panel/pages/order-refund-pages.tsx',
  'src/panel/pages/account-pages.tsx',
  'src/panel/pages/store-pages.tsx',
  'src/panel/pages/webhook-pages.tsx',
])

/** What may follow a text without a limit: it reads no character. */
const READS_NOTHING = new Set([
  'max',
  'min',
  'length',
  'optional',
  'nullable',
  'nullish',
  'default',
  'meta',
  'describe',
])
/** Kinds of texts with a pattern of their own; those of uuid and iso have a fixed length. */
const PATTERNED = new Set(['email', 'url', 'httpUrl', 'base64', 'base64url', 'jwt', 'cidr', 'emoji'])

/** A bound on work instead of time, so that the outcome is the same on every machine. */
const LIMITS = { maxScore: 200, maxSteps: 4_000, timeout: Number.POSITIVE_INFINITY }

interface Node {
  readonly type: string
  readonly span: { readonly start: number }
  // biome-ignore lint/suspicious/noExplicitAny: a syntax tree
  readonly [member: string]: any
}

/** Faults of one file. `used` collects the justifications that it needs. */
export function patternFaultsOf(path: string, text: string, used: Set<string>): string[] {
  const faults: string[] = []
  const tree = parseSync(text, { syntax: 'typescript', tsx: path.endsWith('x'), target: 'es2024' })
  visit(tree as unknown as Node, (node) => {
    if (node.type === 'RegExpLiteral') {
      const problem = slowness(path, node.pattern, node.flags, used)
      if (problem) faults.push(`${path}: /${node.pattern}/ ${problem}`)
    }
    const reading = readingBeforeLimit(path, node)
    if (reading && CALLERS.test(path) && !ANSWERS.includes(path))
      faults.push(`${path}: ${reading} reads a text of any length: begin with limitedText (src/domain/text.ts)`)
  })
  return faults
}

function visit(node: unknown, see: (node: Node) => void): void {
  if (typeof node !== 'object' || node === null) return
  if ('type' in node) see(node as Node)
  for (const child of Object.values(node)) visit(child, see)
}

/** Without a repetition of any number a pattern takes a bounded number of steps per start. */
const REPEATS = /[*+]|\{\d+,\}|\{\d+,\d{2,}\}/

function slowness(path: string, pattern: string, flags: string, used: Set<string>): string | null {
  const known = JUSTIFIED.find(([file, part]) => path.startsWith(file) && pattern.includes(part))
  if (known) {
    used.add(known.join(' '))
    return null
  }
  if (!REPEATS.test(pattern)) return null
  const unicode = flags.includes('u')
  const options = { unicode, caseInsensitive: flags.includes('i') && !unicode, dotAll: flags.includes('s') }
  const { safe } = isSafePattern(pattern, { ...LIMITS, ...options, multiLine: flags.includes('m') })
  return safe ? null : 'may take more than linear time: mend or justify it (tools/patterns.ts)'
}

/** `z.string().trim()`: the call that reads a text whose length was not checked; null if there is none. */
function readingBeforeLimit(path: string, node: Node): string | null {
  if (node.type !== 'CallExpression' || node.callee.type !== 'MemberExpression') return null
  const method = node.callee.property.value
  const isPreprocessing = method === 'preprocess' && !PREPROCESSING.has(path)
  if (node.callee.object.value === 'z') return PATTERNED.has(method) || isPreprocessing ? `z.${method}()` : null
  if (READS_NOTHING.has(method)) return null
  for (let inner = node.callee.object; inner?.type === 'CallExpression'; inner = inner.callee.object) {
    const { object, property } = inner.callee
    if (object?.value === 'z') return property.value === 'string' ? `z.string().${method}()` : null
    if (!READS_NOTHING.has(property?.value)) return null
  }
  return null
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const used = new Set<string>()
  const names = FOLDERS.flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)),
  )
  const sources = names.filter((name) => /\.(?:tsx?|js)$/.test(name)).sort()
  const faults = sources.flatMap((path) => patternFaultsOf(path, readFileSync(path, 'utf8'), used))
  const idle = JUSTIFIED.filter((known) => !used.has(known.join(' ')))
  for (const fault of [...faults, ...idle.map(([file, part]) => `tools/patterns.ts: ${file} has no ${part} now`)]) {
    console.error(fault)
    process.exitCode = 1
  }
}
