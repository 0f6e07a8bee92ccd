import type { Queryable } from '#postgres/database.ts'

/** Bytes of a picture; null if the item has none with this digest (SHA-256 in hex). */
export async function findPicture(
  pool: Queryable,
  companyId: number,
  itemId: number,
  digest: string,
): Promise<Buffer | null> {
  const { rows } = await pool.query<{ content: Buffer }>({
    name: 'find_item_picture',
    text: `select content from item_pictures
      where company_id = $1 and catalog_item_id = $2 and digest = decode($3, 'hex') and content is not null`,
    values: [companyId, itemId, digest],
  })
  return rows[0]?.content ?? null
}

/** Bytes of a company's logo; null if it has none with this digest (SHA-256 in hex). */
export async function findLogo(pool: Queryable, companyId: number, digest: string): Promise<Buffer | null> {
  const { rows } = await pool.query<{ content: Buffer }>({
    name: 'find_company_logo',
    text: `select content from company_logos
      where company_id = $1 and digest = decode($2, 'hex') and content is not null`,
    values: [companyId, digest],
  })
  return rows[0]?.content ?? null
}
