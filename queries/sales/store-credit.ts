import { type CreditMovementObject, creditMovementObject } from '#projections/store-credit.ts'
import type { Reader } from '../reader.ts'
import { t } from '../table-names.ts'

/** Store credit of a customer: the balance and its latest movements, newest first. */
export interface CustomerCredit {
  readonly balance: string
  readonly movements: readonly CreditMovementObject[]
}

/** Movements per answer; the balance counts all. */
export const MAX_CREDIT_MOVEMENTS = 200

const CREDIT = `
  select l.revision, co.timezone,
    coalesce((select cr.balance from ${t.customer_credits} cr where cr.company_id = $1 and cr.id = $2), 0.00)::text as balance,
    (select coalesce(json_agg(m order by m.revision desc), '[]') from (
      select revision, customer_id, kind, amount::text, balance::text, document, occurred_at from ${t.credit_movements}
      where company_id = $1 and customer_id = $2 order by revision desc limit ${MAX_CREDIT_MOVEMENTS}) m) as movements
  from ${t.ledgers} l join ${t.companies} co on co.company_id = l.company_id
  where l.company_id = $1`

interface CreditRow {
  readonly revision: number
  readonly timezone: string
  readonly balance: string
  readonly movements: readonly Parameters<typeof creditMovementObject>[0][]
}

/** The caller checks that the customer exists. */
export async function getCustomerCredit(
  reader: Reader,
  customerId: number,
): Promise<{ credit: CustomerCredit; revision: number }> {
  const { rows } = await reader.query<CreditRow>({
    name: 'customer_credit',
    text: CREDIT,
    values: [customerId],
  })
  const [row] = rows
  if (!row) throw new Error(`company ${reader.companyId} is not registered`)
  const { revision, timezone, balance, movements } = row
  return { revision, credit: { balance, movements: movements.map((each) => creditMovementObject(each, timezone)) } }
}
