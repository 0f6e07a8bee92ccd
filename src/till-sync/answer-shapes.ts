import * as z from 'zod'
import { CASH_WARNINGS } from '#events/cash.ts'
import { OFFLINE_RETURN_WARNINGS, OFFLINE_SALE_WARNINGS } from '#events/sales.ts'
import { LOGGED_IN } from './answer.ts'

export const Moment = z
  .string()
  .regex(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/)
  .meta({ format: 'date-time' })
export const PositiveId = z.int().positive()
export const Success = z.literal(true)
export const Count = z.int().min(0)

const EXAMPLE_USER = { id: 7, name: 'Ana Souza', email: 'ana@loja.example', company_id: 3 }

export const TillUser = z
  .object({ id: PositiveId, name: z.string(), email: z.string(), company_id: PositiveId })
  .meta({ id: 'TillUser', examples: [EXAMPLE_USER] })

export const TokenGrant = z
  .object({
    success: Success,
    message: z.string(),
    data: z.object({ token: z.string(), user: TillUser, expires_at: Moment.nullable() }).meta({ id: 'GrantedToken' }),
  })
  .meta({
    id: 'Grant',
    examples: [
      { success: true, message: LOGGED_IN, data: { token: 'tbp_sHq2…', user: EXAMPLE_USER, expires_at: null } },
    ],
  })

export const EXAMPLE_PRODUCT = {
  id: 9,
  name: 'Café torrado 500 g',
  barcode: '7891000100103',
  price: 18.9,
  stock: 24,
  tracks_stock: true,
  picture_url: null,
  parent_id: null,
  variant: null,
  category_name: 'Bebidas',
  updated_at: '2026-11-21T11:17:15.123Z',
}

export const TillProduct = z
  .object({
    id: PositiveId,
    name: z.string(),
    barcode: z.string(),
    price: z.number(),
    stock: z.number(),
    tracks_stock: z.boolean(),
    picture_url: z.string().nullable(),
    parent_id: PositiveId.nullable(),
    variant: z
      .object({ size: z.string().nullable(), color: z.string().nullable() })
      .meta({ id: 'ProductVariant' })
      .nullable(),
    category_name: z.string(),
    updated_at: Moment,
  })
  .meta({ id: 'Product', examples: [EXAMPLE_PRODUCT] })

export const ProductConflict = z
  .object({
    id: PositiveId,
    client_updated_at: Moment,
    reason: z.enum(['updated', 'deleted', 'unknown']),
    server_updated_at: Moment.nullable(),
    product: TillProduct.nullable(),
  })
  .meta({ id: 'Conflict' })

const warningShape = {
  code: z.enum(OFFLINE_SALE_WARNINGS),
  message: z.string(),
  product_id: PositiveId.optional(),
  sale_id: PositiveId.optional(),
  ...Object.fromEntries(
    [
      'stock',
      'price',
      'catalog_price',
      'discount',
      'total',
      'expected_total',
      'amount_received',
      'expected_amount',
    ].map((name) => [name, z.number().optional()]),
  ),
}

/** Further fields of a refused record. */
const failureShape = {
  code: z.string().optional(),
  message: z.string().optional(),
  errors: z.record(z.string(), z.array(z.string())).optional(),
}

export const OfflineSaleResult = z
  .object({
    offline_id: z.string().nullable(),
    status: z.enum(['created', 'duplicate', 'cancelled', 'resolved', 'error']),
    sale_id: PositiveId.nullable(),
    warnings: z.array(z.object(warningShape).meta({ id: 'SaleWarning' })).optional(),
    ...failureShape,
  })
  .meta({ id: 'SaleResult' })

export const OfflineReturnResult = z
  .object({
    offline_id: z.string().nullable(),
    status: z.enum(['created', 'duplicate', 'refused', 'resolved', 'error']),
    return_id: PositiveId.nullable(),
    /** The sale has not come yet: the return is recorded with it. */
    awaits_sale: z.literal(true).optional(),
    warnings: z
      .array(
        z
          .object({
            code: z.enum(OFFLINE_RETURN_WARNINGS),
            message: z.string(),
            line: z.int().min(0).optional(),
            found: z.string().optional(),
            expected: z.string().optional(),
          })
          .meta({ id: 'ReturnWarning' }),
      )
      .optional(),
    ...failureShape,
  })
  .meta({ id: 'ReturnResult' })

export const CashMovementResult = z
  .object({
    offline_id: z.string().nullable(),
    session_id: z.string().nullable(),
    status: z.enum(['created', 'duplicate', 'refused', 'resolved', 'error']),
    warnings: z
      .array(z.object({ code: z.enum(CASH_WARNINGS), message: z.string() }).meta({ id: 'CashWarning' }))
      .optional(),
    ...failureShape,
  })
  .meta({ id: 'CashResult' })
