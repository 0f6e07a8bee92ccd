import { PAYMENT_METHOD_NAMES, PAYMENT_METHODS } from '#domain/payment-method.ts'
import type { Refusal } from '#domain/refusal.ts'
import type { Reader } from '../reader.ts'
import { type Listing, listInOrder, ORDER_BY_ID, type Page, type Paging } from '../records.ts'

/** The same for every company, in a fixed order. */
const METHODS = PAYMENT_METHODS.map((code, position) => `(${position + 1}, '${code}', '${PAYMENT_METHOD_NAMES[code]}')`)

const paymentMethodListing: Listing<object> = {
  resource: 'payment_methods',
  from: `(select $1::bigint as company_id, m.* from (values ${METHODS.join(', ')}) m (id, code, name)) t`,
  record: `json_build_object('code', t.code, 'name', t.name)`,
  filters: {},
}

/** Payment methods of settlements, as a list page. */
export const listPaymentMethods = (reader: Reader, query: Paging): Promise<Page | Refusal> =>
  listInOrder(reader, paymentMethodListing, ORDER_BY_ID, query)
