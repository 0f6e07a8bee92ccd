import * as z from 'zod'
import { Instant } from '#domain/instant.ts'
import { Email, Id } from '#domain/text.ts'
import { QueryInstant } from '#http/query-values.ts'

/** Longer passwords are refused, because hashing them would only take time. */
const MAX_PASSWORD_LENGTH = 200

/** Maximum of sales, or of returns, per upload; a till with more sends several uploads. */
export const MAX_SALES = 1_000

/** The same maximum as for a download. */
export const MAX_CHECKED = 50_000

export const Credentials = z
  .object({
    email: Email,
    password: z.string().min(1).max(MAX_PASSWORD_LENGTH),
    company_id: Id.nullish(),
  })
  .meta({ id: 'Login' })

export const ProductQuery = z.object({ last_sync: QueryInstant.optional() })

/** The elements are validated in slices. */
export const ProductCheck = z.object({ products: z.array(z.unknown()).max(MAX_CHECKED) })
export const KnownProduct = z.object({ id: Id, updated_at: Instant }).meta({ id: 'KnownProduct' })

/** The sales are validated one by one. */
export const UploadedSales = z.object({
  sales: z.array(z.unknown()).max(MAX_SALES, `no máximo ${MAX_SALES} vendas por envio`),
})

/** The returns are validated one by one. */
export const UploadedReturns = z.object({
  returns: z.array(z.unknown()).max(MAX_SALES, `no máximo ${MAX_SALES} devoluções por envio`),
})

/** Maximum of movements per upload, validated one by one. */
export const UploadedMovements = z.object({
  movements: z.array(z.unknown()).max(MAX_SALES, `no máximo ${MAX_SALES} movimentos por envio`),
})
