import { byPk, table } from '#ledger/table.ts'

/** What a link opens: the receipt of a sale, the account of a customer, a month of the company. */
export interface SharedRecord {
  readonly kind: 'sale' | 'customer' | 'company'
  readonly id: number
  /** Of the company: `2026-11`. */
  readonly month?: string | undefined
}

/** Name of a shared record within its company: it has one link. */
export const sharedRecordKey = ({ kind, id, month }: SharedRecord): string =>
  month === undefined ? `${kind}/${id}` : `month/${month}`

/** Link of a record; schema `ops`, never in an event. */
export interface SharedLink {
  company_id: number
  record: string
  token_hash: Buffer | null
  nonce: Buffer
  expires_at: string
  made_by: number | null
  opened_at: string | null
  last_opened_at: string | null
  times_opened: number
}

export const sharedLinks = table<SharedLink>('shared_links', {
  columns: {
    company_id: 'bigint',
    record: 'text',
    token_hash: 'bytea',
    nonce: 'bytea',
    expires_at: 'timestamptz',
    made_by: 'bigint',
    opened_at: 'timestamptz',
    last_opened_at: 'timestamptz',
    times_opened: 'integer',
  },
  keys: { pk: ['company_id', 'record'] },
})

export const linkOfRecord = (shared: SharedRecord) => byPk(sharedLinks, sharedRecordKey(shared))
