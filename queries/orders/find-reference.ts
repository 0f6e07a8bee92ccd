import type { Pool } from 'pg'

/** What an order's payments carry at the provider; null when the company has no such order. */
export async function findReference(pool: Pool, companyId: number, orderId: number): Promise<string | null> {
  const { rows } = await pool.query<{ reference: string }>({
    name: 'find_order_reference',
    text: 'select provider_reference as reference from orders where company_id = $1 and id = $2',
    values: [companyId, orderId],
  })
  return rows[0]?.reference ?? null
}
