import { table } from '#ledger/table.ts'

/**
 * Picture of an item, stored outside the ledger: replacing or deleting it destroys it. Items name it by its digest
 * (`picture_url`).
 */
export interface ItemPicture {
  company_id: number
  catalog_item_id: number
  /** SHA-256; null, like the content, after a deletion. */
  digest: Buffer | null
  content: Buffer | null
  stored_at: string
}

export const itemPictures = table<ItemPicture>('item_pictures', {
  columns: {
    company_id: 'bigint',
    catalog_item_id: 'bigint',
    digest: 'bytea',
    content: 'bytea',
    stored_at: 'timestamptz',
  },
  keys: { pk: ['company_id', 'catalog_item_id'] },
})

/** Logo of a company, stored outside the ledger like the pictures of items; `logo_url` names it by its digest. */
export interface CompanyLogo {
  company_id: number
  /** SHA-256; null, like the content, after a deletion. */
  digest: Buffer | null
  content: Buffer | null
  stored_at: string
}

export const companyLogos = table<CompanyLogo>('company_logos', {
  columns: { company_id: 'bigint', digest: 'bytea', content: 'bytea', stored_at: 'timestamptz' },
  keys: { pk: ['company_id'] },
})
