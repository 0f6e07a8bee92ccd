import { table } from '#ledger/table.ts'

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
