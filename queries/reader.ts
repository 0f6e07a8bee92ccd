import type { QueryConfig, QueryResult, QueryResultRow } from 'pg'
import type { Queryable } from '#postgres/database.ts'
import { plainSql } from '#postgres/table-marks.ts'
import { maskCosts } from './masked-members.ts'
import type { OwnSales } from './own-sales.ts'
import { type Masks, type RenderedStatement, renderStatement } from './rendered-statement.ts'
import { ruleOf } from './tables.ts'

/**
 * What a role sees: names, documents and contacts of persons (PANEL-83), costs of items, payables (PANEL-201), sales of
 * others.
 */
export interface Sight {
  readonly hidesPersons: boolean
  readonly hidesCosts: boolean
  readonly hidesPayables: boolean
  /** The only sales that are shown; null for all (ROLE-105). */
  readonly ownSales: OwnSales | null
}

/** Whether it hides contents in any shape, of which a mask cannot know the parts (ROLE-951). */
export const hidesContents = ({ hidesPersons, hidesCosts, hidesPayables, ownSales }: Sight): boolean =>
  hidesPersons || hidesCosts || hidesPayables || ownSales !== null

/** Of programs, which see everything. */
export const WHOLE: Sight = { hidesPersons: false, hidesCosts: false, hidesPayables: false, ownSales: null }

/**
 * What a statement reads of a table, if less than all of it. Only as-of queries use it: they reconstruct just these
 * rows (ADR-0016).
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

  /** Whether a column of a table shows the same for all rows: it gives no order. */
  hides(table: string, column: string): boolean {
    const { persons, contents } = ruleOf(table)
    const hidden = (this.#masks.persons && persons) || (this.#masks.contents && contents) || null
    return hidden !== null && Object.hasOwn(hidden.columns, column)
  }

  /** Whether the role does not see all rows of a table. */
  hidesRows(table: string): boolean {
    const { own, isPayable } = ruleOf(table)
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
