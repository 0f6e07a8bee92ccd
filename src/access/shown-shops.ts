import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Pool } from 'pg'
import { MASKED_NAME } from '#projections/companies.ts'
import type { ShopBrand } from './email.ts'

/** A shop whose brand pages without a login show; `logoUrl` as its record has it. */
export interface ShownShop extends ShopBrand {
  readonly companyId: number
}

/** Shops that pages without a login show. */
export interface ShownShops {
  /** Of a company, for cookies and addresses: shops cannot be listed by their numbers. */
  codeFor(companyId: number): string
  /** The company of a code; null for everything else. */
  read(code: string | null): number | null
  /** That company's, or the installation's only one but for test companies. */
  find(companyId: number | null): Promise<ShownShop | null>
}

const CODE = /^([1-9]\d{0,14})\.([\w-]{16})$/

export function createShownShops(pool: Pool, secret: Buffer): ShownShops {
  const sign = (id: string): string =>
    createHmac('sha256', secret).update(`shown shop\n${id}`).digest('base64url').slice(0, 16)
  return {
    codeFor: (companyId) => `${companyId}.${sign(String(companyId))}`,
    read(code) {
      const [, id = '', signature = ''] = (code?.length ?? 0) > 40 ? [] : (CODE.exec(code ?? '') ?? [])
      return id !== '' && timingSafeEqual(Buffer.from(signature), Buffer.from(sign(id))) ? Number(id) : null
    },
    async find(companyId) {
      const { rows } = await pool.query<ShownShop>({ ...FIND, values: [companyId] })
      return rows[0] ?? null
    },
  }
}

const FIND = {
  name: 'find_shown_shop',
  text: `with own as (select company_id from companies where not is_test limit 2)
         select c.company_id as "companyId", ${MASKED_NAME} as name, c.doc ->> 'logo_url' as "logoUrl", c.doc ->> 'brand_color' as color
         from companies c where c.company_id = coalesce($1::bigint, (select min(company_id) from own having count(*) = 1))`,
}
