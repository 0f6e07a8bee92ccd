import type { PersonKind } from '#domain/personal-data.ts'
import type { RecordKind } from '#domain/record-kinds.ts'
import type { DataOf } from '#events/catalogue.ts'
import { byPk, table } from '#ledger/table.ts'
import type { Transaction } from '#postgres/transaction.ts'
import { companyRef } from './companies.ts'
import { projection } from './define.ts'
import { PERSONAL_MEMBERS } from './personal-members.ts'

type ForgettingQueued = DataOf<'PersonForgettingQueued'>

/** Queued erasure of a person, by subject (`customer/9`). */
export interface ErasureRow extends Pick<ForgettingQueued, 'ground' | 'reason'> {
  company_id: number
  subject: string
  /** Day in the company's time zone; null once it is done. */
  due_on: string | null
  /** Whether the contacts are still there, because of open accounts or orders. */
  keeps_contact: boolean
}

const forgettings = table<ErasureRow>('forgettings', {
  columns: {
    company_id: 'bigint',
    subject: 'text',
    due_on: 'date',
    keeps_contact: 'boolean',
    ground: 'text',
    reason: 'text',
  },
  keys: { pk: ['company_id', 'subject'] },
  indexes: ['(due_on, company_id, subject) where due_on is not null'],
})

export const erasureRef = (subject: string) => byPk(forgettings, subject)

export const erasuresProjection = projection('forgettings', [forgettings], {
  PersonForgettingQueued: {
    refs: ({ subject }) => [erasureRef(subject)],
    apply(rows, { subject, data: { due_on, keeps_contact = false, ground, reason } }) {
      const { company_id } = companyRef(rows)
      rows.put(forgettings, { company_id, subject, due_on, keeps_contact, ground, reason })
    },
  },
  PersonForgotten: {
    refs: ({ subject }) => [erasureRef(subject)],
    apply(rows, { subject, data: { parts } }) {
      const queued = rows.get(erasureRef(subject))
      if (!queued) return
      const due_on = parts.includes('identity') ? null : queued.due_on
      rows.put(forgettings, { ...queued, due_on, keeps_contact: false })
    },
  },
})

/** Rows per statement. Bounds the statement's time, during which the ledger is locked. */
const BATCH_ROWS = 2_000

/** Table with records that name persons of other records by an id column. */
interface NamingTable {
  readonly kind: RecordKind
  readonly table: 'sales' | 'receivables' | 'payables'
  /** Column with the person's id, by kind of person; each has an index. */
  readonly idColumns: { readonly [K in PersonKind]?: 'customer_id' | 'seller_id' | 'party_id' }
}

/** SQL text of a JSON value with null at a path that has a value. All other bytes stay equal to those of a replay. */
function nulledAt(json: string, [name, ...rest]: readonly string[]): string {
  if (name === undefined) return `'null'`
  const member = `${json}->'${name}'`
  return `replace((${json})::text, '"${name}":' || (${member})::text, '"${name}":' || ${nulledAt(member, rest)})`
}

/** Erases a member of the documents that name a person ($2) by a column, in rows after an id ($3). */
const statementOf = (table: NamingTable['table'], idColumn: string, path: readonly string[]) => ({
  name: `erase_${path.join('_')}_of_${table}`,
  text: `with batch as (
           select id from ${table} where company_id = $1 and ${idColumn} = $2 and id > $3 order by id limit ${BATCH_ROWS}
         ), erased as (
           update ${table} t set doc = (${nulledAt('t.doc', path)})::json
           from batch where t.company_id = $1 and t.id = batch.id and t.doc #>> '{${path.join(',')}}' is not null
         )
         select max(id) as last from batch`,
})

/** Handler that erases the fields of a person from all records of a table that name the person. */
export function erasing(naming: NamingTable) {
  const members = (PERSONAL_MEMBERS.get(naming.kind) ?? []).flatMap(({ path, part, person }) => {
    if (person === 'subject') return []
    const kind = person.kind as PersonKind
    const column = naming.idColumns[kind]
    if (!column) throw new Error(`erasing: ${naming.table} has no column with the ids of a ${kind}`)
    return [{ part, kind, statement: statementOf(naming.table, column, path) }]
  })
  return {
    async erase(tx: Transaction, companyId: number, { data }: { data: DataOf<'PersonForgotten'> }) {
      for (const { part, kind, statement } of members) {
        if (kind !== data.kind || !data.parts.includes(part)) continue
        for (let last: number | null = 0; last !== null; ) {
          const found: { rows: { last: number | null }[] } = await tx.query(statement, [companyId, data.id, last])
          last = found.rows[0]?.last ?? null
        }
      }
    },
  }
}
