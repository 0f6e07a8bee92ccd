import type { Request, Response } from 'express'
import * as z from 'zod'
import { VoucherCode } from '#commands/offline-sale-input.ts'
import { Instant } from '#domain/instant.ts'
import { Email, Id } from '#domain/text.ts'
import { QueryInstant } from '#records/field.ts'
import type { FailureCode } from './till-answers.ts'

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

export const VoucherQuery = z.object({ voucher: VoucherCode })

/** `updated_since`: as in API v1. */
export const CustomerQuery = z.object({ last_sync: QueryInstant.optional(), updated_since: QueryInstant.optional() })

/** The elements are validated in slices. */
export const ProductCheck = z.object({ products: z.array(z.unknown()).max(MAX_CHECKED) })
export const KnownProduct = z.object({ id: Id, updated_at: Instant }).meta({ id: 'KnownProduct' })

/** The sales are validated one by one. */
export const UploadedSales = z.object({
  sales: z.array(z.unknown()).max(MAX_SALES, `no máximo ${MAX_SALES} vendas por envio`),
})

/** The products are validated one by one. */
export const UploadedItems = z.object({
  items: z.array(z.unknown()).max(MAX_SALES, `no máximo ${MAX_SALES} produtos por envio`),
})

/** The customers are validated one by one. */
export const UploadedCustomers = z.object({
  customers: z.array(z.unknown()).max(MAX_SALES, `no máximo ${MAX_SALES} clientes por envio`),
})

/** The returns are validated one by one. */
export const UploadedReturns = z.object({
  returns: z.array(z.unknown()).max(MAX_SALES, `no máximo ${MAX_SALES} devoluções por envio`),
})

/** Maximum of movements per upload, validated one by one. */
export const UploadedMovements = z.object({
  movements: z.array(z.unknown()).max(MAX_SALES, `no máximo ${MAX_SALES} movimentos por envio`),
})

/** Largest body of a login, which needs no authentication. An empty body counts as `{}`. */
export const CREDENTIALS_BYTES = 16_384
/** Largest body of routes that take lists: 5 MB. */
export const LIST_BODY_BYTES = 5 * 1_048_576

/** What a route of the sync interface and its contract have in common. Unknown parameters and fields are ignored. */
export interface SyncOperation {
  readonly method: 'get' | 'post'
  /** Below /api: `/sync/status`. */
  readonly path: string
  /** Needs no token; only other routes may use `getTillSession`. */
  readonly isOpen?: true
  /** Reads a JSON body of at most this size into `request.body`; without it bodies are ignored. */
  readonly bodyBytes?: number
  /** List of the body that is also taken under an ended token, if tills have signed each element. */
  readonly takesEnded?: 'sales' | 'returns' | 'movements'
  readonly operation: string
  readonly summary: string
  readonly description?: string
  readonly query?: z.ZodObject
  /** Includes the schema of each element of a list, also where elements are validated one by one. */
  readonly body?: z.ZodType
  readonly example?: object
  /** The whole answer. */
  readonly reply: z.ZodType
  /** Failures besides those that follow from authentication, body and query. */
  readonly failures?: readonly FailureCode[]
}

export interface SyncRoute extends SyncOperation {
  /** Answers, or throws a Problem. */
  readonly handle: (request: Request, response: Response) => Promise<void>
}
