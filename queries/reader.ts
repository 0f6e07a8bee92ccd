import type { QueryConfig, QueryResult, QueryResultRow } from 'pg'
import { MARK, plainSql } from '#ledger/table.ts'
import type { Queryable } from '#postgres/database.ts'
import type { Transaction } from '#postgres/transaction.ts'
import { getTableRule, maskCosts, maskedSelection, type OwnSales, type Places } from './tables.ts'

/** What decides how tables are read, beside the values of own sales. */
interface Masks {
  readonly persons: boolean
  readonly payables: boolean
  /** Contents in any shape. */
  readonly contents: boolean
  readonly ownSales: boolean
  /** Past tables lack some columns. */
  readonly isPast: boolean
}

interface RenderedStatement {
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

/** Another parameter than `$1` in the place of a company. */
const OTHER_COMPANY =
  /\bcompany_id\s*(?:=|in|=\s*any)\s*\(?\s*(\$(?!1\b)\d+)|(\$(?!1\b)\d+)(?:::\w+)?\s*=\s*(?:\w+\.)?company_id\b/i

/** A developer's error, met at the first run: the rows would be another company's. */
function assertOwnCompany(text: string): void {
  const [, right, left] = OTHER_COMPANY.exec(text) ?? []
  const parameter = right ?? left
  if (parameter) throw new Error(`a statement compares company_id with ${parameter}: $1 is the reader's company`)
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
function renderStatement(text: string, masks: Masks, count: number): RenderedStatement {
  assertNamed(text)
  assertOwnCompany(text)
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
    const { ownRollup } = getTableRule(part)
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
  const { own, persons, contents, isPayable } = getTableRule(name)
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

/**
 * What a role sees: names, documents and contacts of persons, costs of items, payables, sales of
 * others.
 */
export interface Sight {
  readonly hidesPersons: boolean
  readonly hidesCosts: boolean
  readonly hidesPayables: boolean
  /** The only sales that are shown; null for all (ROLE-105). */
  readonly ownSales: OwnSales | null
}

/** Whether it hides contents in any shape, of which a mask cannot know the parts. */
export const hidesContents = ({ hidesPersons, hidesCosts, hidesPayables, ownSales }: Sight): boolean =>
  hidesPersons || hidesCosts || hidesPayables || ownSales !== null

/** Of programs, which see everything. */
export const WHOLE: Sight = { hidesPersons: false, hidesCosts: false, hidesPayables: false, ownSales: null }

/**
 * What a statement reads of a table, if less than all of it. Only as-of queries use it: they reconstruct just these
 * rows (ADR-0039).
 */
export type ReadScope =
  /** Any row, but neither hot columns (`Past`) nor `revision` and `changed_at`. */
  | 'columns'
  /** As 'columns', plus the complete rows that it answers, each with its id as `key_id`. */
  | 'answered'
  /** Rows with these ids. */
  | readonly number[]
  /** Rows whose ids this statement answers, each as `id`. */
  | ReadStatement

/** Read set by table. Of other tables that the statement names it reads everything. */
type ReadSet<S = ReadScope> = Readonly<Record<string, S>>

/** A statement on tables with rules. `$1` is the company; `values` begin with `$2`. */
export interface ReadStatement extends Omit<QueryConfig, 'values'> {
  readonly values?: readonly unknown[]
  readonly readSet?: ReadSet
}

/** The statement that runs. */
export interface SentStatement extends QueryConfig {
  readonly tables: readonly string[]
  readonly readSet?: ReadSet<SentScope> | undefined
}

export type SentScope = Exclude<ReadScope, ReadStatement> | SentStatement

/** What answers: the primary, a read router, or past tables. */
export interface ReadSource {
  readonly isPast: boolean
  send<R extends QueryResultRow>(statement: SentStatement): Promise<QueryResult<R>>
}

/** The present. */
export const presentSource = (database: Queryable): ReadSource => ({
  isPast: false,
  send: (statement) => database.query(statement),
})

/** What the transaction's snapshot shows. */
export const transactionSource = (tx: Transaction): ReadSource => ({
  isPast: false,
  send: (statement) => tx.query(statement, statement.values),
})

/** All of a company, at present. */
export const fullReader = (database: Queryable, companyId: number): Reader =>
  new Reader(companyId, presentSource(database), WHOLE)

/** Reads of one company, as a role sees it. */
export class Reader {
  readonly #source: ReadSource
  readonly #masks: Masks
  /** Of names of prepared statements. */
  readonly #suffix: string

  constructor(
    readonly companyId: number,
    source: ReadSource,
    readonly sight: Sight,
  ) {
    const { hidesPersons: persons, hidesPayables: payables, ownSales } = sight
    const contents = hidesContents(sight)
    this.#source = source
    this.#masks = { persons, payables, contents, ownSales: ownSales !== null, isPast: source.isPast }
    this.#suffix = `${persons ? '_w' : ''}${payables ? '_o' : ''}${ownSales ? '_s' : ''}${contents ? '_c' : ''}${source.isPast ? '_p' : ''}`
  }

  async query<R extends QueryResultRow>(statement: ReadStatement): Promise<QueryResult<R>> {
    const result = await this.#source.send<R>(this.sent(statement))
    return this.sight.hidesCosts ? { ...result, rows: result.rows.map(maskCosts) } : result
  }

  /** A record's JSON text that came as bytes, in which `query` masks nothing. */
  maskText(text: string): string {
    return this.sight.hidesCosts ? maskCosts(text) : text
  }

  /** Whether a column of a table shows the same for all rows: it gives no order. */
  hides(table: string, column: string): boolean {
    const { persons, contents } = getTableRule(table)
    const hidden = (this.#masks.persons && persons) || (this.#masks.contents && contents) || null
    return hidden !== null && Object.hasOwn(hidden.columns, column)
  }

  /** Whether the role does not see all rows of a table. */
  hidesRows(table: string): boolean {
    const { own, isPayable } = getTableRule(table)
    return (this.#masks.payables && isPayable === true) || (this.#masks.ownSales && own !== 'all')
  }

  /** The SQL that runs for a statement, with all its values. */
  sent(statement: ReadStatement): SentStatement {
    return this.#sentAs(statement, this.#masks, this.#suffix)
  }

  #sentAs(statement: ReadStatement, masks: Masks, suffix: string): SentStatement {
    const { values = [], readSet, name, ...config } = statement
    const { text, isMasked, tables, own } = rendered(suffix, config.text, () =>
      renderStatement(config.text, masks, values.length + 1),
    )
    const { ownSales } = this.sight
    return {
      ...config,
      ...(name && { name: isMasked ? `${name}${suffix}` : name }),
      text,
      values: [this.companyId, ...values, ...own.map((parameter) => ownSales?.[parameter])],
      tables,
      ...(readSet && {
        readSet: Object.fromEntries(
          Object.entries(readSet).map(([table, scope]) => [plainSql(table), this.#sentScope(scope)]),
        ),
      }),
    }
  }

  /** The rows of a read set are reconstructed whole. */
  #sentScope(scope: ReadScope): SentScope {
    return typeof scope === 'object' && 'text' in scope ? this.#sentAs(scope, NOTHING_MASKED, '') : scope
  }
}

const NOTHING_MASKED: Masks = { persons: false, payables: false, contents: false, ownSales: false, isPast: false }

/** Texts depend on filters only, but those of long filters are many. */
const MOST_RENDERED = 2_000
const renderedBy = new Map<string, Map<string, RenderedStatement>>()

function rendered(masks: string, text: string, render: () => RenderedStatement): RenderedStatement {
  const texts = renderedBy.get(masks) ?? new Map<string, RenderedStatement>()
  renderedBy.set(masks, texts)
  let found = texts.get(text)
  if (!found) {
    if (texts.size >= MOST_RENDERED) texts.clear()
    found = render()
    texts.set(text, found)
  }
  return found
}
