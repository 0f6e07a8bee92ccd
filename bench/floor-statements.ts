/** Prepared statement of floor A. Floor B runs the same text with pgbench variables instead of parameters. */
export interface Statement {
  readonly name: string
  readonly text: string
}

const declare = (name: string, text: string): Statement => ({ name, text: text.trim() })

export const findKey = declare(
  'find_key',
  `select k.id as key_id, k.company_id, k.scopes, c.plan, c.timezone
   from api_keys k join companies c on c.id = k.company_id
   where k.hash = $1 and k.revoked_at is null and (k.expires_at is null or k.expires_at > now())`,
)

export const countCall = declare(
  'count_call',
  `insert into quotas as q (company_id, minute_ends_at, minute_count, day_ends_at, day_count)
   values ($1, now() + interval '1 minute', 1, date_trunc('day', now(), $2) + interval '1 day', 1)
   on conflict (company_id) do update set
     minute_count = case when q.minute_ends_at > now() then q.minute_count + 1 else 1 end,
     minute_ends_at = case when q.minute_ends_at > now() then q.minute_ends_at else excluded.minute_ends_at end,
     day_count = case when q.day_ends_at > now() then q.day_count + 1 else 1 end,
     day_ends_at = case when q.day_ends_at > now() then q.day_ends_at else excluded.day_ends_at end
   returning minute_count, day_count, date_part('epoch', minute_ends_at) as minute_ends`,
)

export const lockLedger = declare(
  'lock_ledger',
  `select revision, hash, last_recorded_at, nextval('sale_ids') as sale_id
   from ledgers where company_id = $1 for update`,
)

export const findAnswer = declare(
  'find_answer',
  `select request_hash, status, body from idempotent_answers
   where company_id = $1 and key = $2 and created_at > now() - interval '24 hours'`,
)

export const findItems = declare(
  'find_items',
  `select id, external_id, name, price, stock from catalog_items
   where company_id = $1 and id = any($2) and deleted_at is null`,
)

export const findPaymentTypes = declare(
  'find_payment_types',
  `select id, name, kind, fee_percentage, accepts_api from payment_types
   where company_id = $1 and id = any($2)`,
)

export const findCustomer = declare(
  'find_customer',
  `select id, external_id, name from customers
   where company_id = $1 and external_id = $2 and deleted_at is null`,
)

export const insertEvent = declare(
  'insert_event',
  `insert into events (stream, revision, id, type, subject, recorded_at, envelope)
   values ($1, $2, $3, 'SaleCompleted', $4, $5, $6)`,
)

export const insertSale = declare(
  'insert_sale',
  `insert into sales (company_id, id, external_id, status, customer_id, sold_at, total_cents, revision, changed_at, doc)
   values ($1, $2, $3, 'completed', $4, $5, $6, $7, $8, $9)`,
)

export const takeStock = declare(
  'take_stock',
  `with moved as (
     update catalog_items i
     set stock = i.stock - taken.quantity, stock_updated_at = $4, revision = $5, changed_at = $4
     from unnest($2::bigint[], $3::numeric[]) as taken(id, quantity)
     where i.company_id = $1 and i.id = taken.id
     returning i.id, i.stock, taken.quantity)
   insert into stock_movements (company_id, id, catalog_item_id, kind, quantity, balance, revision, changed_at)
   select $1, ($5 + 1) * 1000 + row_number() over (), id, 'sale', -quantity, stock, $5, $4 from moved`,
)

export const insertAnswer = declare(
  'insert_answer',
  `insert into idempotent_answers (company_id, key, request_hash, status, body, created_at)
   values ($1, $2, $3, $4, $5, $6)
   on conflict (company_id, key) do update set
     request_hash = excluded.request_hash, status = excluded.status, body = excluded.body, created_at = excluded.created_at`,
)

export const advanceLedger = declare(
  'advance_ledger',
  'update ledgers set revision = $2, hash = $3, last_recorded_at = $4 where company_id = $1',
)
