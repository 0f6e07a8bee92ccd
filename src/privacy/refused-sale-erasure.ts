import { isJsonObject } from '#lib/json-members.ts'
import type { Transaction } from '#postgres/transaction.ts'

/** Fields that the service reads (OfflineSaleInput); tills may send more. */
const SALE = ['offline_id', 'total', 'amount_received', 'change', 'status', 'created_at']
const ITEM = ['product_id', 'quantity', 'price', 'total']
const PAYMENT = ['payment_type_id', 'amount', 'status', 'end_to_end_id']
const CARD = ['brand', 'nsu', 'authorization', 'installments', 'acquirer_cnpj', 'integrated']

type Json = Record<string, unknown>

/**
 * Erases customers from refused sales: a sale that names one keeps only the fields that the service reads, and loses
 * its note. Covers open sales and those resolved within 90 days (PRIV-35).
 */
export async function eraseRefusedSales(
  tx: Transaction,
  companyId: number,
  customerIds: readonly number[],
): Promise<void> {
  if (customerIds.length === 0) return
  const { rows } = await tx.query<{ id: number; payload: string }>(FIND, [
    companyId,
    `:"?(${customerIds.join('|')})"?[,}]`,
  ])
  const named = rows.flatMap(({ id, payload }) => withoutCustomers(payload, customerIds, id))
  if (named.length === 0) return
  await tx.query(WRITE, [companyId, named.map(({ id }) => id), named.map(({ payload }) => payload)])
}

function withoutCustomers(payload: string, customerIds: readonly number[], id: number) {
  const kept = erasedSale(payload, (customer) => customerIds.includes(customer))
  return kept === null ? [] : { id, payload: kept }
}

/** The rest of a sale that names an erased customer; null if it names none. */
export function erasedSale(payload: string, isForgotten: (customerId: number) => boolean): string | null {
  const sale = JSON.parse(payload) as Json
  const customerId = customerIn(sale)
  if (customerId === null || !isForgotten(customerId)) return null
  const lists = { items: linesOf(sale.items, ITEM), payments: paymentsOf(sale.payments) }
  return JSON.stringify({ ...only(sale, SALE), customer_id: customerId, ...lists })
}

/** Id of the customer in a till's sale, in any of its forms; null if there is none. */
export function customerIn(sale: unknown): number | null {
  if (!isJsonObject(sale)) return null
  const { customer_id, customer } = sale
  for (const named of [customer_id, customer]) {
    const id = Number(isJsonObject(named) ? (named.id ?? named.customer_id) : (named ?? Number.NaN))
    if (Number.isSafeInteger(id) && id > 0) return id
  }
  return null
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

const FIND = {
  name: 'find_refused_sales_about',
  text: 'select id, payload from refused_sales where company_id = $1 and payload ~ $2',
}

const WRITE = {
  name: 'write_refused_sales',
  text: `update refused_sales r set payload = new.payload, settled_note = null
         from unnest($2::bigint[], $3::text[]) as new(id, payload) where r.company_id = $1 and r.id = new.id`,
}
