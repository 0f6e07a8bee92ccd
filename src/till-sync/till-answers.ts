import type { Request, Response } from 'express'
import * as z from 'zod'
import { VoucherCode } from '#commands/offline-sale-input.ts'
import { Instant } from '#domain/instant.ts'
import { describeIssues, printable } from '#domain/refusals.ts'
import { Email, Id } from '#domain/text.ts'
import { OFFLINE_RETURN_WARNINGS, OFFLINE_SALE_WARNINGS } from '#events/sale-events.ts'
import { CASH_WARNINGS, type ChainWarning } from '#events/till-events.ts'
import { sendJson } from '#http/answers.ts'
import { Problem } from '#http/problems.ts'
import { type ByteRange, toByteRange, toBytes } from '#lib/fair-sharing.ts'
import { QueryInstant } from '#records/field.ts'

/** Statuses and messages of failures of the sync interface, for cashiers. */
const FAILURES = {
  malformed_request: [400, 'A requisição não é HTTP válido.'],
  missing_token: [401, 'Informe o token de acesso no cabeçalho Authorization: Bearer <token>.'],
  invalid_token: [401, 'Token inválido ou expirado. Faça login novamente.'],
  wrong_credentials: [401, 'E-mail ou senha incorretos.'],
  https_required: [403, 'A sincronização só atende por HTTPS.'],
  not_found: [404, 'Rota não encontrada.'],
  method_not_allowed: [405, 'Esta rota não aceita o método usado.'],
  request_timeout: [408, 'A requisição não chegou inteira a tempo.'],
  payload_too_large: [413, 'O corpo da requisição é grande demais.'],
  unsupported_media_type: [415, 'Envie o corpo como application/json em UTF-8.'],
  malformed_json: [422, 'O corpo da requisição não é um JSON válido.'],
  repeated_member: [422, 'O corpo da requisição tem o mesmo campo duas vezes em um objeto.'],
  company_required: [422, 'Informe em company_id uma das empresas deste usuário.'],
  validation_failed: [422, 'Há dados inválidos na requisição.'],
  rate_limited: [429, 'Muitas requisições. Aguarde e tente novamente.'],
  bytes_used_up: [429, 'A empresa já enviou todos os dados que pode enviar hoje. Guarde as vendas e envie amanhã.'],
  too_many_logins: [429, 'Muitas tentativas de login. Aguarde e tente novamente.'],
  internal_error: [500, 'Erro interno. Informe ao suporte o X-Request-Id desta resposta.'],
  share_taken: [503, 'Há envios demais desta empresa em andamento. Aguarde e tente novamente.'],
  unavailable: [503, 'Serviço temporariamente indisponível. Tente novamente em instantes.'],
} as const satisfies Record<string, readonly [number, string]>

export type FailureCode = keyof typeof FAILURES

export const failureStatus = (code: FailureCode): number => FAILURES[code][0]
export const failureMessage = (code: FailureCode): string => FAILURES[code][1]

/** Failure code of a problem. Problems that only API v1 knows must not occur here. */
const failureOf = ({ code, reason }: Problem): FailureCode =>
  ([reason, code].find((name) => name !== null && name in FAILURES) as FailureCode | undefined) ?? 'internal_error'

/** Entry of an oversized body in `errors`. */
const tooLarge = (limitBytes: number) => ({ body: [`deve ter no máximo ${limitBytes} bytes`] })

/** Messages of deviations in the chain of a till. */
export const CHAIN_MESSAGES: Readonly<Record<ChainWarning, string>> = {
  till_signature: 'A assinatura do caixa não confere.',
  till_chain: 'A sequência do caixa está interrompida antes ou depois deste registro.',
  till_number: 'O número já foi usado por outro registro deste caixa.',
}

/** Messages of successes. */
export const LOGGED_IN = 'Login realizado com sucesso.'
export const TOKEN_RENEWED = 'Token renovado com sucesso.'
export const LOGGED_OUT = 'Logout realizado com sucesso.'

/** Messages by field, for the developer of the till. */
type FieldErrors = Readonly<Record<string, readonly string[]>>

/** Sends `{"success":true, …}`. */
export function sendSuccess(response: Response, rest: object): void {
  sendJson(response, 200, JSON.stringify({ success: true, ...rest }))
}

interface FailureRest {
  readonly errors?: FieldErrors | undefined
  readonly data?: object
  readonly headers?: Readonly<Record<string, string>>
}

/** Sends `{success: false, message, errors?, data?}` (SYNC-40). */
export function sendFailure(
  response: Response,
  code: FailureCode,
  { errors, data, headers = {} }: FailureRest = {},
): void {
  const status = failureStatus(code)
  if (status === 401) response.setHeader('WWW-Authenticate', 'Bearer')
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value)
  const body = { success: false, message: failureMessage(code), ...(errors && { errors }), ...(data && { data }) }
  sendJson(response, status, JSON.stringify(body))
}

/** Sends a thrown problem in the shape of this interface. */
export function answerSyncProblem(response: Response, problem: Problem): void {
  sendFailure(response, failureOf(problem), { errors: errorsIn(problem.details), headers: problem.headers })
}

function errorsIn(details: Problem['details']): FieldErrors | undefined {
  if (typeof details?.limit_bytes === 'number') return tooLarge(details.limit_bytes)
  return details?.fields as FieldErrors | undefined
}

/** Validation of a list stops after this number of invalid elements; an answer names no more fields. */
const MOST_WRONG = 100

/** Validates the elements of a long list in slices; `name` is the list's field in the body. @throws Problem (422) */
export async function parseEach<T>(
  schema: z.ZodType<T>,
  name: string,
  elements: readonly unknown[],
  slices: () => Promise<void>,
): Promise<T[]> {
  const parsed: T[] = []
  const wrong: z.core.$ZodIssue[][] = []
  for (const [position, element] of elements.entries()) {
    await slices()
    const result = schema.safeParse(element)
    if (result.success) parsed.push(result.data)
    else wrong.push(result.error.issues.map((issue) => ({ ...issue, path: [name, position, ...issue.path] })))
    if (wrong.length === MOST_WRONG) break
  }
  if (wrong.length === 0) return parsed
  throw new Problem('validation_failed', { ...describeIssues(new z.ZodError(wrong.flat())) })
}

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
  sku: 'CAFE-500',
  unit: 'UN',
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
    sku: z.string(),
    unit: z.string(),
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

export const EXAMPLE_CUSTOMER = {
  id: 4,
  name: 'Maria Souza',
  document: '52998224725',
  credit: 16.64,
  updated_at: '2026-11-21T11:17:15.123Z',
}

export const TillCustomer = z
  .object({ id: PositiveId, name: z.string(), document: z.string(), credit: z.number(), updated_at: Moment })
  .meta({ id: 'TillCustomer', examples: [EXAMPLE_CUSTOMER] })

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

const draftResult = (id: 'item_id' | 'customer_id', name: string, codes: readonly string[]) =>
  z
    .object({
      offline_id: z.string().nullable(),
      status: z.enum(['created', 'duplicate', 'error']),
      [id]: PositiveId.nullable(),
      warnings: z
        .array(z.object({ code: z.enum(codes), message: z.string() }).meta({ id: `${name}Warning` }))
        .optional(),
      ...failureShape,
    })
    .meta({ id: `${name}Result` })

export const OfflineItemResult = draftResult('item_id', 'Item', ['barcode_in_use'])
export const OfflineCustomerResult = draftResult('customer_id', 'Customer', ['name_in_use'])

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

/** Identifier that the till gave, as a text; null if it is neither a text nor an integer. */
export const sentId = (id: unknown): string | null =>
  typeof id === 'string' || Number.isSafeInteger(id) ? printable(String(id)) : null

/**
 * JSON text of the answer to an upload in UTF-8, composed in slices: 1,000 results may have 100,000 errors and warnings.
 */
export async function composeListAnswer(
  results: readonly { readonly status: string }[],
  message: string,
  slices: () => Promise<void>,
): Promise<Buffer> {
  const pieces: ByteRange[] = []
  let error_count = 0
  for (const [position, result] of results.entries()) {
    await slices()
    if (result.status === 'error' || result.status === 'refused') error_count += 1
    pieces.push(toByteRange(`${position > 0 ? ',' : ''}${JSON.stringify(result)}`))
  }
  const total_processed = results.length
  const summary = { total_processed, success_count: total_processed - error_count, error_count }
  const head = JSON.stringify({ success: true, message, summary })
  return toBytes(`${head.slice(0, -1)},"results":[`, pieces, ']}')
}

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
