import { MARK, plainSql } from '#postgres/table-marks.ts'
import type { Places } from './own-sales.ts'
import { maskedSelection, ruleOf } from './tables.ts'

/** What decides how tables are read, beside the values of own sales. */
export interface Masks {
  readonly persons: boolean
  readonly payables: boolean
  /** Contents in any shape. */
  readonly contents: boolean
  readonly ownSales: boolean
  /** Past tables lack some columns. */
  readonly isPast: boolean
}

export interface RenderedStatement {
  readonly text: string
  /** Whether the text differs from the plain one. */
  readonly isMasked: boolean
  /** Tables that the statement names. */
  readonly tables: readonly string[]
  /** Parameters behind those of the statement. */
  readonly own: readonly OwnParameter[]
}

export type OwnParameter = 'userId' | 'from' | 'to'

/** What follows a table's name without an alias. */
const NO_ALIAS =
  /^\s*(?:$|[),;]|(?:where|join|left|right|full|inner|cross|natural|on|using|group|order|limit|offset|union|for)\b)/i

const CTE = /\b(\w+)(?:\s*\([\w\s,]*\))?\s+as\s+(?:(?:not\s+)?materialized\s+)?\(/gi

/** Marked names, and what matters of SQL: comments and literals, names, parentheses, commas. */
const TOKEN = new RegExp(
  `--[^\\n]*|/\\*[\\s\\S]*?\\*/|'(?:[^']|'')*'|${MARK}[^${MARK}]*${MARK}|"[^"]*"(?:\\.\\w+)?|[a-z_][\\w.]*|[(),]`,
  'gi',
)
/** What ends the tables of a FROM. */
const AFTER_TABLES =
  /^(?:where|group|order|having|limit|offset|fetch|window|union|except|intersect|for|returning|select|set)$/
const SUBQUERY = /^(?:select|with|values|table)$/
/** Where `table` is a command, not a name. */
const TABLE_AFTER = /^(?:|\(|union|all|except|intersect)$/
/** Functions with FROM between their arguments. */
const WITH_FROM = /^(?:extract|trim|substring|overlay|position)$/

/** Names in the place of a table that are neither marked nor a function: behind FROM, JOIN, TABLE, or a comma. */
function* bareTables(text: string): Iterable<string> {
  const tokens = Array.from(text.matchAll(TOKEN), ([token]) => token.toLowerCase()).filter(
    (token) => !/^(?:--|\/\*|')/.test(token),
  )
  /** For each open parenthesis, whether commas separate tables, and whether FROM is part of a function. */
  const open = [{ inTables: false, isArguments: false }]
  let isTable = false
  for (const [position, token] of tokens.entries()) {
    const place = open.at(-1) ?? { inTables: false, isArguments: false }
    const before = tokens[position - 1] ?? ''
    const next = tokens[position + 1] ?? ''
    if (token === '(') {
      // Around joined tables, if it does not begin with the words of a subquery.
      isTable &&= !SUBQUERY.test(next)
      open.push({ inTables: isTable, isArguments: WITH_FROM.test(before) })
      continue
    }
    if (token === ')') open.pop()
    else if (token === ',') isTable = place.inTables
    else if (token === 'from' && !place.isArguments && before !== 'distinct') isTable = place.inTables = true
    else if (token === 'join' || (token === 'table' && TABLE_AFTER.test(before))) isTable = true
    else if (isTable && (token === 'lateral' || token === 'only')) continue
    else {
      if (AFTER_TABLES.test(token)) place.inTables = false
      else if (isTable && !token.startsWith(MARK) && next !== '(') yield token
      isTable = false
    }
  }
}

/** A developer's error, met at the first run: the table's rule would not apply. */
function assertNamed(text: string): void {
  const ctes = new Set(Array.from(text.matchAll(CTE), ([, name]) => name?.toLowerCase()))
  for (const name of bareTables(text))
    if (!ctes.has(name))
      throw new Error(
        `a statement names ${name} in the place of a table: write \${t.${name}}, so that its rule applies`,
      )
}

/** Renders a statement of `count` parameters, of which the first is the company, for roles with these masks. */
export function renderStatement(text: string, masks: Masks, count: number): RenderedStatement {
  assertNamed(text)
  const own: OwnParameter[] = []
  const place = (parameter: OwnParameter, type: string): string => {
    if (!own.includes(parameter)) own.push(parameter)
    return `$${count + 1 + own.indexOf(parameter)}::${type}`
  }
  const places: Places = {
    company: '$1::bigint',
    get user() {
      return place('userId', 'bigint')
    },
    get from() {
      return place('from', 'timestamptz')
    },
    get to() {
      return place('to', 'timestamptz')
    },
  }
  const parts = text.split(MARK)
  const rollups = new Map<string, string>()
  const shown = parts.map((part, position) => {
    if (position % 2 === 0) return part
    const { ownRollup } = ruleOf(part)
    if (masks.ownSales && ownRollup) {
      // Computed once, whatever the statement reads of it.
      rollups.set(part, rollups.get(part) ?? `${part} as (${ownRollup(places)})`)
      return part
    }
    const source = sourceOf(part, masks, places)
    return source !== part && NO_ALIAS.test(parts[position + 1] ?? '') ? `${source} ${part}` : source
  })
  const body = shown.join('')
  const marked = rollups.size === 0 ? body : withCtes([...rollups.values()], body)
  return {
    text: plainSql(marked),
    isMasked: marked !== body || plainSql(body) !== plainSql(text),
    tables: [...new Set([...namedIn(marked), ...namedIn(text)])],
    own,
  }
}

/** Marked names. */
const namedIn = (text: string): string[] => text.split(MARK).filter((_, position) => position % 2 === 1)

/** The table, or what a role sees of it; a row may depend on rows of other tables, which are marked. */
function sourceOf(name: string, masks: Masks, places: Places): string {
  const { own, persons, contents, isPayable } = ruleOf(name)
  const conditions = [
    ...(masks.payables && isPayable ? ['false'] : []),
    ...(masks.ownSales && own !== 'all' ? [own === 'none' ? 'false' : own(places)] : []),
  ]
  const hidden = (masks.persons && persons) || (masks.contents && contents)
  const columns = hidden ? maskedSelection(hidden, masks.isPast) : 't.*'
  if (columns === 't.*' && conditions.length === 0) return name
  return `(select ${columns} from ${name} t${conditions.length > 0 ? ` where ${conditions.join(' and ')}` : ''})`
}

const WITH = 'with '

const withCtes = (ctes: readonly string[], text: string): string =>
  text.startsWith(WITH) ? `${WITH}${ctes.join(', ')}, ${text.slice(WITH.length)}` : `${WITH}${ctes.join(', ')} ${text}`
