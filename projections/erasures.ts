import type { DataOf } from '#events/catalogue.ts'
import { byPk, table } from '#ledger/table.ts'
import type { Transaction } from '#postgres/transaction.ts'
import { companyRef } from './companies.ts'
import { projection } from './define.ts'

type ForgettingQueued = DataOf<'PersonForgettingQueued'>

/** Queued erasure of a person, by subject (`customer/9`). */
export interface ErasureRow extends Pick<ForgettingQueued, 'ground' | 'reason'> {
  company_id: number
  subject: string
  /** Day in the company's time zone; null once it is done. */
  due_on: string | null
}

const forgettings = table<ErasureRow>('forgettings', {
  columns: { company_id: 'bigint', subject: 'text', due_on: 'date', ground: 'text', reason: 'text' },
  keys: { pk: ['company_id', 'subject'] },
  indexes: ['(due_on, company_id, subject) where due_on is not null'],
})

export const erasureRef = (subject: string) => byPk(forgettings, subject)

export const erasuresProjection = projection('forgettings', [forgettings], {
  PersonForgettingQueued: {
    refs: ({ subject }) => [erasureRef(subject)],
    apply(rows, { subject, data: { due_on, ground, reason } }) {
      rows.put(forgettings, { company_id: companyRef(rows).company_id, subject, due_on, ground, reason })
    },
  },
  PersonForgotten: {
    refs: ({ subject }) => [erasureRef(subject)],
    apply(rows, { subject, data: { parts } }) {
      const queued = rows.get(erasureRef(subject))
      if (queued && parts.includes('identity')) rows.put(forgettings, { ...queued, due_on: null })
    },
  },
})

/** Rows per statement. Bounds the statement's time, during which the ledger is locked. */
const BATCH_ROWS = 2_000

/** Where rows of a table hold the name of the person in an id column; both expressions are JSON text. */
interface NameColumn {
  readonly table: 'sales' | 'receivables' | 'payables'
  readonly idColumn: 'customer_id' | 'party_id'
  /** Part of the row's `doc` that holds the name, and the same part without it. */
  readonly part: string
  readonly nameless: string
  /** SQL condition: a name is present. */
  readonly isNamed: string
}

/**
 * Erases the name of a person ($2) from rows after an id ($3). All other bytes of the documents stay equal to those of
 * a replay.
 */
const statementOf = ({ table, idColumn, part, nameless, isNamed }: NameColumn) => ({
  name: `erase_names_of_${table}`,
  text: `with batch as (
           select id from ${table} where company_id = $1 and ${idColumn} = $2 and id > $3 order by id limit ${BATCH_ROWS}
         ), erased as (
           update ${table} t set doc = replace(t.doc::text, ${part}, ${nameless})::json
           from batch where t.company_id = $1 and t.id = batch.id and ${isNamed}
         )
         select max(id) as last from batch`,
})

/** Erases a person's name from all rows of a table, and changes nothing else. */
function eraserOf(named: NameColumn): (tx: Transaction, companyId: number, personId: number) => Promise<void> {
  const statement = statementOf(named)
  return async (tx, companyId, personId) => {
    for (let last: number | null = 0; last !== null; ) {
      const found: { rows: { last: number | null }[] } = await tx.query(statement, [companyId, personId, last])
      last = found.rows[0]?.last ?? null
    }
  }
}

export const eraseFromSales = eraserOf({
  table: 'sales',
  idColumn: 'customer_id',
  part: `'"customer":' || (t.doc->'customer')::text`,
  nameless: `'"customer":' || replace((t.doc->'customer')::text, '"name":' || (t.doc->'customer'->'name')::text, '"name":null')`,
  isNamed: `t.doc->'customer'->>'name' is not null`,
})

const accountEraser = (table: 'receivables' | 'payables', field: string) =>
  eraserOf({
    table,
    idColumn: 'party_id',
    part: `'"${field}":' || (t.doc->'${field}')::text`,
    nameless: `'"${field}":null'`,
    isNamed: `t.doc->>'${field}' is not null`,
  })

export const eraseFromReceivables = accountEraser('receivables', 'customer_name')
export const eraseFromPayables = accountEraser('payables', 'supplier_name')

/** Handler that erases a name from rows of one kind when the identity is erased. */
export const erasing = (
  kind: ForgettingQueued['kind'],
  erase: (tx: Transaction, companyId: number, personId: number) => Promise<void>,
) => ({
  erase: async (tx: Transaction, companyId: number, { data }: { data: DataOf<'PersonForgotten'> }) => {
    if (data.kind === kind && data.parts.includes('identity')) await erase(tx, companyId, data.id)
  },
})
