import { toLoginAccount } from '#access/login-limits.ts'
import type { OpenSession } from '#access/open-sessions.ts'
import type { SecondFactor } from '#access/second-factors.ts'
import type { PersonKind } from '#domain/person-values.ts'
import type { RecordKind } from '#domain/record-values.ts'
import { type Envelope, type Origin, streamName } from '#ledger/command.ts'
import { type EventReader, pickNewest } from '#ledger/port.ts'
import type { Database } from '#postgres/database.ts'
import { MASKED_NAME } from '#projections/companies.ts'
import { eraseMembers, PERSONAL_MEMBERS } from '#projections/people.ts'
import { creditMovementObject } from '#projections/store-credit.ts'
import { listActors } from '#queries/event-queries.ts'
import { fullReader } from '#queries/reader.ts'

/** Subject of the export. An order stands for its buyer. */
export interface ExportedPerson {
  readonly kind: PersonKind
  readonly id: number
}

/** An event that concerns the person. */
export interface TouchingEvent {
  readonly revision: number
  /** UTC. */
  readonly recorded_at: string
  readonly type: string
  readonly subject: string
  readonly origin: Origin
  /** As `user/3`; null for the service itself. */
  readonly actor: string | null
  /** Name of the actor. */
  readonly actor_name: string | null
  /** In clear text, in the newest version; null for erased data. */
  readonly data: object
}

/** Stored records, each with all events that changed it. */
export interface ExportedList {
  readonly record: object
  readonly events: readonly TouchingEvent[]
}

/** Kinds of records about a person. */
export type ListName = TableName | 'store_credit'

/** Tables of records with a document and a history. */
type TableName = 'sales' | 'receivables' | 'payables' | 'orders'

export interface ExportHead {
  /** As `customer/9`. */
  readonly subject: string
  readonly company: { readonly id: number; readonly name: string; readonly timezone: string }
  /** UTC. */
  readonly exported_at: string
}

export interface ExportTail {
  /** Webhook messages of these events (kept 30 days), their deliveries, and the number of addresses. */
  readonly webhooks: { readonly messages: number; readonly deliveries: number; readonly addresses: number }
  /** For a user: open sessions and tokens, and the number of known login origins. Null for others. */
  readonly access: Access | null
}

interface Access {
  readonly sessions: readonly Pick<OpenSession, 'created_at' | 'last_seen_at' | 'user_agent'>[]
  readonly till_tokens: readonly { readonly created_at: string; readonly last_used_at: string }[]
  readonly second_factors: readonly Pick<SecondFactor, 'method' | 'label' | 'created_at' | 'last_used_at'>[]
  readonly logins_seen_at: readonly string[]
}

/** The export in parts: head, the record itself, entries list by list, tail. */
export type ExportPart =
  | { readonly piece: 'head'; readonly head: ExportHead }
  | { readonly piece: 'person'; readonly held: ExportedList }
  | { readonly piece: 'list'; readonly list: ListName }
  | { readonly piece: 'entry'; readonly held: ExportedList }
  | { readonly piece: 'tail'; readonly tail: ExportTail }

interface Source extends EventReader {
  readonly pool: Database
}

const TABLES = { customer: 'customers', supplier: 'suppliers', user: 'users', order: 'orders' } as const

/** Tables with records of a person; each column has an index. */
const LISTS: Readonly<
  Record<ExportedPerson['kind'], readonly { readonly list: TableName; readonly column: string }[]>
> = {
  customer: [
    { list: 'sales', column: 'customer_id' },
    { list: 'receivables', column: 'party_id' },
    { list: 'orders', column: 'customer_id' },
  ],
  supplier: [{ list: 'payables', column: 'party_id' }],
  user: [{ list: 'sales', column: 'seller_id' }],
  order: [],
}

const KIND_OF: Readonly<Record<ListName, RecordKind>> = {
  sales: 'sale',
  receivables: 'receivable',
  payables: 'payable',
  orders: 'order',
  // Their events are those of sales and returns.
  store_credit: 'sale',
}

/** A record without the names of other kinds of persons: the buyer does not get the seller's, nor the seller the buyer's. */
function withoutOtherPersons(held: ExportedList, list: ListName, kind: PersonKind): ExportedList {
  const others = (PERSONAL_MEMBERS.get(KIND_OF[list]) ?? []).filter(
    ({ person }) => person !== 'subject' && person.kind !== kind,
  )
  if (others.length === 0) return held
  const copy = structuredClone(held)
  for (const object of [copy.record, ...copy.events.map(({ data }) => data)]) eraseMembers(object, others)
  return copy
}

/** Records held in memory at once, with their events. */
const PAGE = 200

/**
 * Exports all data about a person of a company, also a deleted one; null if the company never had the person.
 * Memory grows only with the ids of the person's records. Every statement uses an index, and events are read by the
 * revisions in the rows' history.
 */
export async function exportPersonData(
  source: Source,
  companyId: number,
  { kind, id }: ExportedPerson,
  now: string,
): Promise<AsyncGenerator<ExportPart> | null> {
  const collecting = { ...source, companyId, actors: new Map<string, string>(), webhooks: createCounts() }
  const [own] = await heldIn(collecting, TABLES[kind], [id])
  if (!own) return null
  const person = own
  async function* pieces(): AsyncGenerator<ExportPart> {
    const head = await headOf(collecting, `${kind}/${id}`, now)
    yield { piece: 'head', head }
    yield { piece: 'person', held: person }
    for (const { list, column } of LISTS[kind]) {
      yield { piece: 'list', list }
      const ids = await idsIn(collecting, list, column, id)
      for (let start = 0; start < ids.length; start += PAGE)
        for (const held of await heldIn(collecting, list, ids.slice(start, start + PAGE)))
          yield { piece: 'entry', held: withoutOtherPersons(held, list, kind) }
    }
    if (kind === 'customer') {
      yield { piece: 'list', list: 'store_credit' }
      for await (const held of creditMovementsOf(collecting, id, head.company.timezone))
        yield { piece: 'entry', held: withoutOtherPersons(held, 'store_credit', kind) }
    }
    const { messages, deliveries, addresses } = collecting.webhooks
    const access = kind === 'user' ? await accessOf(collecting, id, person.record as { email: string | null }) : null
    yield { piece: 'tail', tail: { webhooks: { messages, deliveries, addresses: addresses.size }, access } }
  }
  return pieces()
}

interface Collecting extends Source {
  readonly companyId: number
  /** Cache of actor names. */
  readonly actors: Map<string, string>
  readonly webhooks: ReturnType<typeof createCounts>
}

const createCounts = () => ({ messages: 0, deliveries: 0, addresses: new Set<number>() })

async function headOf({ pool, companyId }: Collecting, subject: string, exported_at: string): Promise<ExportHead> {
  const { rows } = await pool.query<{ name: string; timezone: string }>(
    `select ${MASKED_NAME} as name, c.timezone from companies c where c.company_id = $1`,
    [companyId],
  )
  const { name = '', timezone = 'UTC' } = rows[0] ?? {}
  return { subject, company: { id: companyId, name, timezone }, exported_at }
}

/** Movements of a customer's store credit, each with the event of its sale or return. */
async function* creditMovementsOf(
  collecting: Collecting,
  customerId: number,
  timezone: string,
): AsyncGenerator<ExportedList> {
  let last = -1
  for (;;) {
    const { rows } = await collecting.pool.query<Parameters<typeof creditMovementObject>[0]>(
      `select revision, customer_id, kind, amount, balance, document, occurred_at from credit_movements
       where company_id = $1 and customer_id = $2 and revision > $3 order by revision limit ${PAGE}`,
      [collecting.companyId, customerId, last],
    )
    const events = await eventsAt(
      collecting,
      rows.map(({ revision }) => revision),
    )
    for (const row of rows) {
      const { document: subject, ...movement } = creditMovementObject(row, timezone)
      const event = events.get(row.revision)
      yield { record: { ...movement, subject }, events: event ? [event] : [] }
    }
    if (rows.length < PAGE) return
    last = rows.at(-1)?.revision ?? last
  }
}

async function idsIn({ pool, companyId }: Collecting, list: TableName, column: string, id: number): Promise<number[]> {
  const { rows } = await pool.query<{ id: number }>(
    `select id from ${list} where company_id = $1 and ${column} = $2 order by id`,
    [companyId, id],
  )
  return rows.map((row) => row.id)
}

interface Row {
  readonly id: number
  readonly doc: object
  readonly revisions: readonly number[]
}

/** Records of one table with their events. */
async function heldIn(collecting: Collecting, table: string, ids: readonly number[]): Promise<ExportedList[]> {
  const rows = await rowsIn(collecting, table, ids)
  const revisions = [...new Set(rows.flatMap((row) => row.revisions))].sort((a, b) => a - b)
  const events = await eventsAt(collecting, revisions)
  await countWebhooks(collecting, revisions)
  return rows.map(({ doc, revisions }) => ({
    record: doc,
    events: revisions.flatMap((revision) => events.get(revision) ?? []),
  }))
}

/** Rows with the revisions of the events that changed them; the row itself lists the latest ones. */
async function rowsIn({ pool, companyId }: Collecting, table: string, ids: readonly number[]): Promise<Row[]> {
  interface FoundRecord {
    id: number
    doc: object
    revision: number
    first_revision: number
    past_revisions: readonly number[] | null
  }
  const { rows } = await pool.query<FoundRecord>(
    `select id, doc, revision, first_revision, past_revisions from ${table}
     where company_id = $1 and id = any($2::bigint[]) order by id`,
    [companyId, ids],
  )
  const pasts = await pool.query<{ row_id: number; revisions: readonly number[] }>(
    'select row_id, revisions from row_histories where company_id = $1 and table_name = $2 and row_id = any($3::bigint[])',
    [companyId, table, ids],
  )
  return rows.map(({ id, doc, revision, first_revision, past_revisions }) => {
    const earlier = pasts.rows.flatMap((past) => (past.row_id === id ? past.revisions : []))
    const all = new Set([first_revision, ...earlier, ...(past_revisions ?? []), revision])
    return { id, doc, revisions: [...all].sort((a, b) => a - b) }
  })
}

async function eventsAt(collecting: Collecting, revisions: readonly number[]): Promise<Map<number, TouchingEvent>> {
  const { companyId, pool, actors } = collecting
  const events: Envelope[] = []
  for await (const event of pickNewest(collecting, streamName(companyId), revisions)) events.push(event)
  const unknown = [...new Set(events.flatMap(({ actor }) => (actor && !actors.has(actor) ? [actor] : [])))]
  if (unknown.length > 0)
    for (const [actor, name] of await listActors(fullReader(pool, companyId), unknown)) actors.set(actor, name)
  return new Map(
    events.map(({ revision, recorded_at, type, subject, origin, actor, data }) => {
      const actor_name = actor === null ? null : (actors.get(actor) ?? null)
      return [revision, { revision, recorded_at, type, subject, origin, actor, actor_name, data }]
    }),
  )
}

async function countWebhooks({ pool, companyId, webhooks }: Collecting, revisions: readonly number[]): Promise<void> {
  const { rows } = await pool.query<{ webhook_id: number | null; deliveries: number }>(
    `select d.webhook_id, count(d.id) as deliveries
     from ops.webhook_messages m left join ops.webhook_deliveries d on d.company_id = $1 and d.message_id = m.id
     where m.company_id = $1 and m.revision = any($2::bigint[]) group by m.id, d.webhook_id`,
    [companyId, revisions],
  )
  for (const { webhook_id, deliveries } of rows) {
    webhooks.deliveries += deliveries
    if (webhook_id !== null) webhooks.addresses.add(webhook_id)
  }
  const messages = await pool.query<{ count: number }>(
    'select count(*) as count from ops.webhook_messages where company_id = $1 and revision = any($2::bigint[])',
    [companyId, revisions],
  )
  webhooks.messages += messages.rows[0]?.count ?? 0
}

async function accessOf(
  { pool, companyId }: Pick<Collecting, 'pool' | 'companyId'>,
  userId: number,
  { email }: { readonly email: string | null },
): Promise<Access> {
  const sessions = await pool.query<Access['sessions'][number]>(
    'select created_at, last_seen_at, user_agent from ops.sessions where company_id = $1 and user_id = $2 and revoked_at is null order by created_at',
    [companyId, userId],
  )
  const tokens = await pool.query<Access['till_tokens'][number]>(
    'select created_at, last_used_at from ops.sync_tokens where company_id = $1 and user_id = $2 and revoked_at is null order by created_at',
    [companyId, userId],
  )
  const origins = await pool.query<{ seen_at: string }>(
    'select seen_at from ops.login_origins where account = $1 order by seen_at',
    [email === null ? null : toLoginAccount(email)],
  )
  const factors = await pool.query<Access['second_factors'][number]>(
    'select method, label, created_at, last_used_at from ops.second_factors where email = $1 order by created_at',
    [email],
  )
  return {
    second_factors: factors.rows,
    sessions: sessions.rows,
    till_tokens: tokens.rows,
    logins_seen_at: origins.rows.map(({ seen_at }) => seen_at),
  }
}
