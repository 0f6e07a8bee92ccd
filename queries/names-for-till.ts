import type { Pool } from 'pg'

/** Names of what a till knows by id only; ids that the company does not have are not in the maps. */
export interface NamesForTill {
  readonly products: ReadonlyMap<number, string>
  readonly paymentTypes: ReadonlyMap<number, string>
}

/** Also of products that have been deactivated. Ids are safe integers. */
export async function findNamesForTill(
  pool: Pool,
  companyId: number,
  { products, paymentTypes }: { readonly products: readonly number[]; readonly paymentTypes: readonly number[] },
): Promise<NamesForTill> {
  const { rows } = await pool.query<{ is_product: boolean; id: number; name: string }>({
    name: 'names_for_till',
    text: `select true as is_product, i.id, i.doc->>'name' as name from catalog_items i
           where i.company_id = $1 and i.id = any($2::bigint[])
           union all
           select false, t.id, t.doc->>'name' from payment_types t where t.company_id = $1 and t.id = any($3::bigint[])`,
    values: [companyId, products, paymentTypes],
  })
  const named = (isProduct: boolean) =>
    new Map(rows.filter(({ is_product }) => is_product === isProduct).map(({ id, name }) => [id, name] as const))
  return { products: named(true), paymentTypes: named(false) }
}
