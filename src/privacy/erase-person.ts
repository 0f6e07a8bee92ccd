import { toLoginAccount } from '#access/login-limits.ts'
import { PERSON_KINDS, type PersonKind, type PersonPart } from '#domain/person-values.ts'
import type { RecordKind } from '#domain/record-values.ts'
import type { DataOf } from '#events/catalogue.ts'
import type { Envelope } from '#ledger/command.ts'
import { parseSubject, type Reactor } from '#ledger/projection.ts'
import { valueAt } from '#ledger/sealed-fields.ts'
import { containsNeedle, eraseAnswers, eraseTexts, type TextErasure } from '#ledger/write/idempotency.ts'
import { isJsonObject } from '#lib/json.ts'
import type { Transaction } from '#postgres/transaction.ts'
import { eraseMembers, holdersAt, ownMembers, PERSONAL_MEMBERS, type PersonalMember } from '#projections/people.ts'

/** Pending deliveries follow the company's clock: they become due earlier by the amount it was moved. */
const BRING_FORWARD = {
  name: 'bring_deliveries_forward',
  text: `update webhook_deliveries set next_attempt_at = greatest(clock_timestamp(), next_attempt_at - $2 * interval '1 millisecond')
         where company_id = $1 and status = 'pending' and next_attempt_at > clock_timestamp()`,
}

/** Rows per statement. */
const SLICE_ROWS = 10_000

/**
 * Rows of `ops` from before the event ($2 its time, $3 its revision). Rows without personal data stay, for example
 * endpoint health.
 */
const FORMER: readonly (readonly [table: string, condition: string])[] = [
  ['idempotent_answers', 'created_at < $2 and $3::bigint >= 0'],
  ['webhook_replays', 'requested_at < $2 and $3::bigint >= 0'],
  ['webhook_stock_changes', 'recorded_at < $2 and $3::bigint >= 0'],
  ['webhook_deliveries', 'coalesce(revision < $3, created_at < $2)'],
  ['webhook_messages', 'coalesce(revision < $3, created_at < $2)'],
  ['payment_notifications', 'received_at < $2 and $3::bigint >= 0'],
  ['payment_sweeps', 'attempted_at < $2 and $3::bigint >= 0'],
  ['refused_sales', 'first_refused_at < $2 and $3::bigint >= 0'],
  ['item_pictures', 'stored_at < $2 and $3::bigint >= 0'],
]

const DELETIONS = FORMER.map(([table, condition]) => ({
  name: `empty_ops_${table}`,
  text: `delete from ops.${table} where ctid = any(array(
           select ctid from ops.${table} where company_id = $1 and ${condition} limit ${SLICE_ROWS}))`,
}))

/** Persons without a record can no longer be erased one by one, so their keys are destroyed here. */
const END_KEYS = {
  name: 'end_keys_of_test_data',
  text: `update ops.person_keys set wrapped = null, destroyed_at = $2 where ctid = any(array(
           select ctid from ops.person_keys where company_id = $1 and wrapped is not null and created_at < $2 and $3::bigint >= 0
             and (subject like 'customer/%' or subject like 'supplier/%' or subject like 'order/%') limit ${SLICE_ROWS}))`,
}

/** Side effects of moving a test company's clock, and of emptying the company. */
export const testDataReset: Reactor = {
  refs: (_rows, { type }) => (type === 'TestClockMoved' || type === 'TestDataErased' ? [] : null),
  react() {},
  finish: (tx, companyId, event) =>
    event.type === 'TestClockMoved' ? bringForward(tx, companyId, event) : empty(tx, companyId, event),
}

async function bringForward(tx: Transaction, companyId: number, { data }: Envelope): Promise<void> {
  await tx.query(BRING_FORWARD, [companyId, (data as DataOf<'TestClockMoved'>).by_ms])
}

async function empty(tx: Transaction, companyId: number, { recorded_at, revision }: Envelope): Promise<void> {
  for (const statement of [...DELETIONS, END_KEYS]) {
    for (;;) {
      const { rowCount } = await tx.query(statement, [companyId, recorded_at, revision])
      if ((rowCount ?? 0) < SLICE_ROWS) break
    }
  }
}

/** Subjects and parts of an erasure. */
export interface ErasedPerson {
  /** As in `PersonForgotten`: `customer/9`, and that customer's orders, `order/5`. */
  readonly subjects: readonly string[]
  readonly parts: readonly PersonPart[]
}

type Json = Record<string, unknown>

/** Recognizes records of persons by members that no other object has. */
const RECORDS: Readonly<Record<PersonKind, (object: Json) => boolean>> = {
  customer: (object) => 'person_type' in object && !('trade_name' in object),
  supplier: (object) => 'person_type' in object && 'trade_name' in object,
  user: (object) => 'role' in object && 'email' in object,
  order: (object) => 'provider_reference' in object,
}

/** Member that names the person of another record, by an id beside it. */
interface PersonName {
  readonly path: readonly string[]
  readonly part: PersonPart
  readonly kind: string
  readonly id: string
}

/** The buyer of an order may be a customer. */
function namesIn(kind: RecordKind, { path, part, person }: PersonalMember): PersonName[] {
  if (person !== 'subject') return [{ path, part, ...person }]
  return kind === 'order' && path[0] === 'customer' ? [{ path, part, kind: 'customer', id: 'id' }] : []
}

const NAMES = [...PERSONAL_MEMBERS].flatMap(([kind, members]) => members.flatMap((member) => namesIn(kind, member)))

/**
 * Recognizes records by their members, as projections write them, and persons by id: `{id: 9, person_type, document,
 * …}` is a customer, with `trade_name` a supplier. It never compares values.
 */
export function toTextErasure({ subjects, parts }: ErasedPerson): TextErasure {
  const wanted = new Set(subjects)
  const ids = [...new Set(subjects.map((subject) => parseSubject(subject).id))]
  const is = (kind: string, id: unknown): boolean => wanted.has(`${kind}/${id}`)

  function visit(value: unknown, found: Finding): void {
    if (Array.isArray(value)) for (const element of value) visit(element, found)
    if (!isJsonObject(value)) return
    const note = (isChanged: boolean) => {
      found.isAbout = true
      found.isChanged ||= isChanged
    }
    for (const kind of PERSON_KINDS)
      if (RECORDS[kind](value) && is(kind, value.id)) note(eraseMembers(value, ownMembers(kind, parts)))
    for (const { path, part, kind, id } of NAMES)
      for (const holder of holdersAt(value, path.slice(0, -1)))
        if (is(kind, valueAt(holder, id)))
          note(parts.includes(part) && eraseMembers(holder, [{ path: path.slice(-1) }]))
    for (const member of Object.values(value)) visit(member, found)
  }

  return {
    needles: ids.flatMap((id) => [`id":${id},`, `id":${id}}`]),
    redact(text) {
      const found = { isAbout: false, isChanged: false }
      const json = parsed(text)
      visit(json, found)
      return { isAbout: found.isAbout, text: found.isChanged ? JSON.stringify(json) : null }
    },
  }
}

interface Finding {
  isAbout: boolean
  isChanged: boolean
}

/** Null if the text is not JSON: a response may be empty. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

/** Stored e-mail addresses of users of a company. */
export async function loadEmails(tx: Transaction, companyId: number, userIds: readonly number[]): Promise<string[]> {
  if (userIds.length === 0) return []
  const { rows } = await tx.query<{ email: string }>(FIND_EMAILS, [companyId, userIds])
  return rows.map(({ email }) => email)
}

/**
 * Ends all access of users of a company. Login, links and known networks of an address are deleted with the last user
 * who has it in any company; until then links and origins stay. All rows are found by key.
 */
async function eraseLogins(
  tx: Transaction,
  companyId: number,
  userIds: readonly number[],
  emails: readonly string[],
): Promise<void> {
  for (const end of END_ACCESS) await tx.query(end, [companyId, userIds])
  // A concurrent insert of related rows locks the login or the user, so this statement waits for it.
  const { rows } = await tx.query<{ email: string }>(DELETE_LOGINS, [emails])
  const gone = rows.map(({ email }) => email)
  if (gone.length === 0) return
  for (const statement of DELETE_OF_EMAILS) await tx.query(statement, [gone])
  const accounts = gone.map(toLoginAccount)
  await tx.query(DELETE_ORIGINS, [accounts])
  await tx.query(DELETE_FAILURES, [accounts])
}

const FIND_EMAILS = {
  name: 'find_emails_of_users',
  text: `select doc ->> 'email' as email from users
         where company_id = $1 and id = any($2::bigint[]) and doc ->> 'email' is not null`,
}

const END_ACCESS = [
  {
    name: 'end_sessions_of_users',
    text: `update ops.sessions set revoked_at = clock_timestamp(), user_agent = null
           where user_id = any($2::bigint[]) and company_id = $1 and revoked_at is null`,
  },
  {
    name: 'end_tokens_of_users',
    text: `update ops.sync_tokens set revoked_at = clock_timestamp()
           where user_id = any($2::bigint[]) and company_id = $1 and revoked_at is null`,
  },
  {
    name: 'delete_pins_of_users',
    text: 'delete from ops.user_pins where company_id = $1 and user_id = any($2::bigint[])',
  },
  {
    name: 'delete_mornings_of_users',
    text: 'delete from ops.morning_mails where company_id = $1 and user_id = any($2::bigint[])',
  },
  {
    name: 'end_invitations_of_users',
    text: 'update ops.invitations set token_hash = null where company_id = $1 and user_id = any($2::bigint[])',
  },
]

/** Returns addresses without a user, with or without a login. */
const DELETE_LOGINS = {
  name: 'delete_logins',
  text: `with gone as (
           select email from unnest($1::text[]) as known(email) where not exists (select from users u where u.email = known.email)
         ), deleted as (
           delete from ops.persons p using gone where p.email = gone.email
         )
         select email from gone`,
}

const DELETE_OF_EMAILS = ['password_links', 'second_factors', 'recovery_codes', 'second_steps'].map((table) => ({
  name: `delete_${table}`,
  text: `delete from ops.${table} where email = any($1)`,
}))

const DELETE_ORIGINS = {
  name: 'delete_login_origins',
  text: 'delete from ops.login_origins where account = any($1::bytea[])',
}

const DELETE_FAILURES = {
  name: 'delete_login_failures',
  text: 'delete from ops.login_failures where key = any($1::bytea[])',
}

/**
 * Erases persons from a company's stored messages: pending and later deliveries send null. Recorded answers to such
 * messages are dropped whole, because a receiver's text may repeat anything. Scans all messages of 30 days
 * except those about the catalog.
 */
async function eraseMessages(tx: Transaction, companyId: number, redaction: TextErasure): Promise<void> {
  await tx.query(COUNT_ERASURE, [companyId])
  const texts = { find: FIND_MESSAGES, write: WRITE_MESSAGES, first: '00000000-0000-0000-0000-000000000000' }
  const ids = await eraseTexts(tx, companyId, texts, redaction)
  if (ids.length > 0) await tx.query(FORGET_RESPONSES, [companyId, ids])
}

/** A replay reads its next messages outside of the ledger's lock: it reads them again after an erasure. */
const COUNT_ERASURE = {
  name: 'count_erasure_in_replays',
  text: `update webhook_replays set erasures = erasures + 1 where company_id = $1 and status = 'running'`,
}

const FIND_MESSAGES = {
  name: 'find_messages_about',
  text: `select id as key, body as text from webhook_messages
         where company_id = $1 and id > $3::uuid and event not like 'cat%' and ${containsNeedle('body')} order by id limit $4`,
}

const WRITE_MESSAGES = {
  name: 'write_messages',
  text: `update webhook_messages m set body = new.text
         from unnest($2::uuid[], $3::text[]) as new(id, text) where m.company_id = $1 and m.id = new.id`,
}

/** Edits the JSON text, like `RECORD_RESULTS`; quotes inside a response are escaped. */
const FORGET_RESPONSES = {
  name: 'forget_responses',
  text: String.raw`update webhook_deliveries
         set attempts = regexp_replace(attempts::text, '"response":"([^"\\]|\\.)*"', '"response":null', 'g')::json
         where company_id = $1 and message_id = any($2::uuid[]) and attempts::text like '%"response":"%'`,
}

/** Fields of a notification without personal data. */
const KEPT = ['id', 'type', 'action', 'api_version', 'date_created', 'live_mode', 'user_id']

/**
 * Removes all other fields from the notifications of erased orders, because their content is not specified.
 * Notifications are found by order.
 */
async function eraseNotifications(tx: Transaction, companyId: number, orderIds: readonly number[]): Promise<void> {
  if (orderIds.length === 0) return
  const { rows } = await tx.query<{ id: number; payload: string }>(FIND_NOTIFICATIONS, [companyId, orderIds])
  const changed = rows.map(({ id, payload }) => ({ id, before: payload, payload: keptOf(payload) }))
  const other = changed.filter(({ before, payload }) => payload !== before)
  if (other.length === 0) return
  await tx.query(WRITE_NOTIFICATIONS, [other.map(({ id }) => id), other.map(({ payload }) => payload), companyId])
}

function keptOf(payload: string): string | null {
  const told = JSON.parse(payload) as Record<string, unknown> | string
  if (typeof told !== 'object' || told === null) return null
  const kept = Object.entries(told).filter(([name, value]) => KEPT.includes(name) && typeof value !== 'object')
  const { id } = (told.data ?? {}) as { id?: unknown }
  const isId = typeof id === 'string' || typeof id === 'number'
  return JSON.stringify({ ...Object.fromEntries(kept), ...(isId && { data: { id } }) })
}

const FIND_NOTIFICATIONS = {
  name: 'find_notifications_about',
  text: `select id, payload from payment_notifications
         where company_id = $1 and order_id = any($2::bigint[]) and payload is not null`,
}

const WRITE_NOTIFICATIONS = {
  name: 'write_notifications',
  text: `update payment_notifications n set payload = new.payload
         from unnest($1::bigint[], $2::text[]) as new(id, payload) where n.company_id = $3 and n.id = new.id`,
}

/** Fields that the service reads (OfflineSaleInput); tills may send more. */
const SALE = ['offline_id', 'total', 'amount_received', 'change', 'status', 'created_at']
const ITEM = ['product_id', 'quantity', 'price', 'total']
const PAYMENT = ['payment_type_id', 'amount', 'status', 'end_to_end_id']
const CARD = ['brand', 'nsu', 'authorization', 'installments', 'acquirer_cnpj', 'integrated']

/** Deletes the files of all users of a company; they must repeat pending uploads. */
const eraseImports = (tx: Transaction, companyId: number): Promise<unknown> =>
  tx.query({ name: 'wipe_imports', text: 'delete from imports where company_id = $1' }, [companyId])

/**
 * Erases customers from refused sales: a sale that names one keeps only the fields that the service reads, and loses
 * its note. Covers open sales and those resolved within 90 days.
 */
async function eraseRefusedSales(tx: Transaction, companyId: number, customerIds: readonly number[]): Promise<void> {
  if (customerIds.length === 0) return
  const found = await tx.query<{ offline_id: string }>(FIND_OFFLINE_IDS, [companyId, customerIds])
  const erased = new Set<NamedCustomer>([...customerIds, ...found.rows.map(({ offline_id }) => offline_id)])
  const { rows } = await tx.query<{ id: number; payload: string }>(FIND_REFUSED_SALES, [
    companyId,
    `:"?(${customerIds.join('|')})"?[,}]`,
    found.rows.map(({ offline_id }) => JSON.stringify(offline_id)),
  ])
  const named = rows.flatMap(({ id, payload }) => withoutCustomers(payload, erased, id))
  if (named.length === 0) return
  await tx.query(WRITE_REFUSED_SALES, [companyId, named.map(({ id }) => id), named.map(({ payload }) => payload)])
}

function withoutCustomers(payload: string, erased: ReadonlySet<NamedCustomer>, id: number) {
  const kept = eraseSale(payload, (customer) => erased.has(customer))
  return kept === null ? [] : { id, payload: kept }
}

/** The rest of a sale that names an erased customer; null if it names none. */
export function eraseSale(payload: string, isForgotten: (customer: NamedCustomer) => boolean): string | null {
  const sale = JSON.parse(payload) as Json
  const customer = customerIn(sale)
  if (customer === null || !isForgotten(customer)) return null
  const named = typeof customer === 'number' ? { customer_id: customer } : { offline_customer_id: customer }
  const lists = { items: linesOf(sale.items, ITEM), payments: paymentsOf(sale.payments) }
  return JSON.stringify({ ...only(sale, SALE), ...named, ...lists })
}

/** A customer as a till's sale names it: the id, or the identifier that the till gave. */
export type NamedCustomer = number | string

/** The customer in a till's sale, in any of its forms; null if there is none. */
export function customerIn(sale: unknown): NamedCustomer | null {
  if (!isJsonObject(sale)) return null
  const { customer_id, customer, offline_customer_id } = sale
  for (const named of [customer_id, customer]) {
    const id = Number(isJsonObject(named) ? (named.id ?? named.customer_id) : (named ?? Number.NaN))
    if (Number.isSafeInteger(id) && id > 0) return id
  }
  return typeof offline_customer_id === 'string' ? offline_customer_id : null
}

const linesOf = (lines: unknown, names: readonly string[]): unknown =>
  Array.isArray(lines) ? lines.map((line) => (isJsonObject(line) ? only(line, names) : null)) : null

const paymentsOf = (payments: unknown): unknown =>
  Array.isArray(payments)
    ? payments.map((payment) => {
        if (!isJsonObject(payment)) return null
        return { ...only(payment, PAYMENT), ...(isJsonObject(payment.card) && { card: only(payment.card, CARD) }) }
      })
    : null

const only = (object: Json, names: readonly string[]): Json =>
  Object.fromEntries(
    Object.entries(object).filter(([name, value]) => names.includes(name) && typeof value !== 'object'),
  )

const FIND_OFFLINE_IDS = {
  name: 'find_offline_ids_of_customers',
  text: `select offline_id from offline_records where company_id = $1 and kind = 'customer' and record_id = any($2::bigint[])`,
}

const FIND_REFUSED_SALES = {
  name: 'find_refused_sales_about',
  text: `select id, payload from refused_sales where company_id = $1
           and (payload ~ $2 or exists (select from unnest($3::text[]) named where strpos(payload, named) > 0))`,
}

const WRITE_REFUSED_SALES = {
  name: 'write_refused_sales',
  text: `update refused_sales r set payload = new.payload, resolution_note = null
         from unnest($2::bigint[], $3::text[]) as new(id, payload) where r.company_id = $1 and r.id = new.id`,
}

/**
 * Erases persons from a company's rows of `ops`, in the transaction that applies the event and after its own writes. `emails` are the addresses of erased users; without them no login is searched. Repeatable.
 *
 * | Table | Personal data | Erasure |
 * |---|---|---|
 * | idempotent_answers | records | fields null; scans the company's responses of 24 hours |
 * | webhook_messages, webhook_deliveries | records; responses | fields null; responses null; scans the messages of 30 days |
 * | payment_notifications | the provider's payload | deleted except the payment's id and a few fields; by order |
 * | refused_sales | payload, note | reduced to the fields that the service reads; scans the sales of 90 days |
 * | imports | uploaded files before their import | deleted for the whole company; kept one hour |
 * | sessions, sync_tokens, invitations | user of the login | ended; by user |
 * | persons, password_links, second_factors, recovery_codes, second_steps | e-mail address | deleted with its last user |
 * | login_origins, login_failures | hash of the e-mail address | deleted with its last user |
 *
 * The other tables have no personal data: ledgers, read_model, checkpoints, table_checks and quotas hold positions and
 * numbers; calls is masked (src/http/request-log.ts); webhook_hours and request_counts hold numbers;
 * api_key_secrets, webhook_secrets, store_secrets and installation_secrets hold secrets; notices and the other
 * webhook_* tables hold endpoint addresses. unverified_notifications holds unauthenticated payloads that match no order,
 * for 30 days.
 */
export async function erasePerson(
  tx: Transaction,
  companyId: number,
  forgotten: ErasedPerson,
  emails: readonly string[] = [],
): Promise<void> {
  const redaction = toTextErasure(forgotten)
  await eraseAnswers(tx, companyId, redaction)
  await eraseMessages(tx, companyId, redaction)
  await eraseNotifications(tx, companyId, listErasedIds(forgotten, 'order'))
  await eraseImports(tx, companyId)
  await eraseRefusedSales(tx, companyId, listErasedIds(forgotten, 'customer'))
  if (forgotten.parts.includes('identity')) await eraseLogins(tx, companyId, listErasedIds(forgotten, 'user'), emails)
}

export const listErasedIds = ({ subjects }: Pick<ErasedPerson, 'subjects'>, kind: string): number[] =>
  subjects.map(parseSubject).flatMap(({ type, id }) => (type === kind ? id : []))
