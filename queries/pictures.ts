import type { Reader } from './reader.ts'
import { t } from './table-names.ts'

/** Bytes of a picture; null if the item has none with this digest (SHA-256 in hex). */
export async function findPicture(reader: Reader, itemId: number, digest: string): Promise<Buffer | null> {
  const { rows } = await reader.query<{ content: Buffer }>({
    name: 'find_item_picture',
    text: `select content from ${t.item_pictures}
      where company_id = $1 and catalog_item_id = $2 and digest = decode($3, 'hex') and content is not null`,
    values: [itemId, digest],
  })
  return rows[0]?.content ?? null
}

/** Bytes of a company's logo; null if it has none with this digest (SHA-256 in hex). */
export async function findLogo(reader: Reader, digest: string): Promise<Buffer | null> {
  const { rows } = await reader.query<{ content: Buffer }>({
    name: 'find_company_logo',
    text: `select content from ${t.company_logos}
      where company_id = $1 and digest = decode($2, 'hex') and content is not null`,
    values: [digest],
  })
  return rows[0]?.content ?? null
}
