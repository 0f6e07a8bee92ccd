import * as z from 'zod'
import { CashMovementInput } from '#commands/cash-commands.ts'
import { OfflineCustomerInput, OfflineItemInput, OfflineSaleInput } from '#commands/offline-sale-input.ts'
import { OfflineReturnInput } from '#commands/record-offline-return.ts'
import { ChainPlace, TillInput } from '#commands/till-commands.ts'
import { TILL_ROLES } from '#domain/rights.ts'
import { PAYMENT_KINDS } from '#events/company-events.ts'
import {
  CashMovementResult,
  Count,
  CREDENTIALS_BYTES,
  Credentials,
  CustomerQuery,
  EXAMPLE_CUSTOMER,
  EXAMPLE_PRODUCT,
  type FailureCode,
  KnownProduct,
  LIST_BODY_BYTES,
  LOGGED_OUT,
  MAX_CHECKED,
  MAX_SALES,
  Moment,
  OfflineCustomerResult,
  OfflineItemResult,
  OfflineReturnResult,
  OfflineSaleResult,
  PositiveId,
  ProductConflict,
  ProductQuery,
  Success,
  type SyncOperation,
  TillCustomer,
  TillProduct,
  TillUser,
  TokenGrant,
  VoucherQuery,
} from './till-answers.ts'

/** Version of the sync interface; docs/pos-sync.md lists the changes allowed within a version. */
export const SYNC_VERSION = '1.0'

const sale = {
  offline_id: 'caixa1-000123',
  status: 'completed',
  created_at: '2026-11-21T11:17:15.000Z',
  items: [{ product_id: 9, quantity: 2, price: 18.9, total: 37.8 }],
  payments: [{ payment_type_id: 1, amount: 37.8, status: 'completed' }],
  total: 37.8,
  amount_received: 40,
  change: 2.2,
}

const EXAMPLE_KEY = {
  kty: 'EC',
  crv: 'P-256',
  x: 'f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU',
  y: 'x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0',
}

const goodsReturned = {
  offline_id: 'caixa1-dev-000007',
  sale_offline_id: 'caixa1-000123',
  reason: 'Pacote rasgado',
  returned_at: '2026-11-22T12:30:00.000Z',
  items: [{ line: 0, quantity: 1 }],
  refunds: [{ payment_type_id: 1, amount: 18.9 }],
}

const movements = [
  { offline_id: 'caixa1-g1', session_id: 'caixa1-41', kind: 'opened', amount: 150, at: '2026-11-21T11:00:00.000Z' },
  {
    offline_id: 'caixa1-g2',
    session_id: 'caixa1-41',
    kind: 'out',
    amount: 400,
    at: '2026-11-21T15:00:00.000Z',
    reason: 'Sangria',
  },
  {
    offline_id: 'caixa1-g3',
    session_id: 'caixa1-41',
    kind: 'closed',
    amount: null,
    at: '2026-11-21T21:05:00.000Z',
    counted: { cash: 702.7, '2': 512.3 },
  },
]

const UploadSummary = z
  .object({ total_processed: Count, success_count: Count, error_count: Count })
  .meta({ id: 'UploadSummary' })

/** Fields that uploads of lists share. `result`: schema for each record; `message` and `example`: of an upload of one. */
const uploadOf = (id: string, result: z.ZodType, message: string, example: object) =>
  ({
    method: 'post',
    bodyBytes: LIST_BODY_BYTES,
    reply: z
      .object({
        success: Success,
        message: z.string(),
        summary: UploadSummary,
        results: z.array(result),
      })
      .meta({
        id,
        examples: [
          {
            success: true,
            message,
            summary: { total_processed: 1, success_count: 1, error_count: 0 },
            results: [example],
          },
        ],
      }),
  }) as const

/** The operations, in the order of a till's day. Routes take method, path, limits and schemas from here. */
/** Schema of an uploaded element: of the command, with the place in its till's chain. */
const chained = (element: z.ZodType, id: string) =>
  z.intersection(element, z.object({ till: ChainPlace.nullish() })).meta({ id })

export const SYNC_OPERATIONS = {
  login: {
    method: 'post',
    path: '/auth/login',
    isOpen: true,
    bodyBytes: CREDENTIALS_BYTES,
    operation: 'login',
    summary: 'Entra com e-mail e senha e recebe um token',
    description:
      'Quem trabalha em várias empresas escolhe uma em `company_id`; sem ela a resposta é 422 e lista as empresas em `data.companies`. Com o último token do caixa em `Authorization`, só as falhas dele contam para o limite.',
    body: Credentials,
    example: { email: 'ana@loja.example', password: 'a senha dela' },
    reply: TokenGrant,
    failures: ['wrong_credentials', 'company_required', 'too_many_logins'],
  },
  refresh: {
    method: 'post',
    path: '/auth/refresh',
    operation: 'refreshToken',
    summary: 'Troca o token por um novo',
    reply: TokenGrant,
  },
  logout: {
    method: 'post',
    path: '/auth/logout',
    operation: 'logout',
    summary: 'Encerra o token',
    reply: z
      .object({ success: Success, message: z.string() })
      .meta({ id: 'LoggedOut', examples: [{ success: true, message: LOGGED_OUT }] }),
  },
  user: {
    method: 'get',
    path: '/auth/user',
    operation: 'getTillUser',
    summary: 'Mostra o usuário do token',
    reply: z.object({ success: Success, data: TillUser }).meta({ id: 'TillUserAnswer' }),
  },
  status: {
    method: 'get',
    path: '/sync/status',
    operation: 'getSyncStatus',
    summary: 'Testa a conexão e mostra a hora do serviço',
    description: 'Compare `server_time` com o relógio do caixa e avise se houver minutos de diferença.',
    reply: z
      .object({
        success: Success,
        server_time: Moment,
        company_id: PositiveId,
        user_id: PositiveId,
        user_name: z.string(),
        version: z.string(),
        till: z
          .object({ id: PositiveId, last_number: Count, last_hash: z.string().nullable() })
          .meta({ id: 'KnownTill' })
          .nullable(),
      })
      .meta({
        id: 'SyncStatus',
        examples: [
          {
            success: true,
            server_time: '2026-11-21T11:17:15.123Z',
            company_id: 3,
            user_id: 7,
            user_name: 'Ana Souza',
            version: SYNC_VERSION,
            till: { id: 3, last_number: 118, last_hash: 'a'.repeat(64) },
          },
        ],
      }),
  },
  config: {
    method: 'get',
    path: '/sync/config',
    operation: 'getTillConfig',
    summary: 'Mostra a empresa, as formas de pagamento e o usuário',
    reply: z
      .object({
        success: Success,
        data: z
          .object({
            company: z
              .object({
                id: PositiveId,
                name: z.string(),
                cnpj: z.string(),
                logo_url: z.string(),
                pix_key: z.string(),
                pix_city: z.string(),
                voucher_days: Count,
              })
              .meta({ id: 'TillCompany' }),
            payment_types: z.array(
              z
                .object({
                  id: PositiveId,
                  name: z.string(),
                  kind: z.enum(PAYMENT_KINDS),
                  is_cash: z.boolean(),
                  fee_percentage: z.number(),
                  due_days: Count,
                })
                .meta({ id: 'TillPaymentType' }),
            ),
            user: z
              .object({ id: PositiveId, name: z.string(), role: z.enum(TILL_ROLES) })
              .meta({ id: 'TillConfigUser' }),
            drawer: z.object({ session_id: z.string(), opened_at: Moment }).meta({ id: 'TillDrawer' }).nullable(),
          })
          .meta({ id: 'TillConfigData' }),
      })
      .meta({
        id: 'TillConfig',
        examples: [
          {
            success: true,
            data: {
              company: {
                id: 3,
                name: 'Mercearia Boa Vista',
                cnpj: '11.222.333/0001-81',
                logo_url: '',
                pix_key: '11222333000181',
                pix_city: 'Recife',
                voucher_days: 90,
              },
              payment_types: [
                { id: 1, name: 'Dinheiro', kind: 'cash', is_cash: true, fee_percentage: 0.0, due_days: 30 },
              ],
              user: { id: 7, name: 'Ana Souza', role: 'clerk' },
              drawer: null,
            },
          },
        ],
      }),
  },
  tills: {
    method: 'post',
    path: '/sync/tills',
    bodyBytes: LIST_BODY_BYTES,
    operation: 'registerTill',
    summary: 'Dá ao aparelho o seu número, pela chave com que ele assina',
    description: 'A mesma chave é o mesmo caixa. Uma empresa tem até 50 caixas.',
    body: TillInput.meta({ id: 'TillInput' }),
    example: { name: 'Balcão', public_key: EXAMPLE_KEY },
    reply: z
      .object({
        success: Success,
        id: PositiveId,
        number: PositiveId,
        name: z.string(),
        last_number: Count,
        last_hash: z.string().nullable(),
      })
      .meta({
        id: 'RegisteredTill',
        examples: [{ success: true, id: 3, number: 3, name: 'Balcão', last_number: 0, last_hash: null }],
      }),
  },
  products: {
    method: 'get',
    path: '/sync/products',
    operation: 'downloadProducts',
    summary: 'Baixa todos os produtos, ou os que mudaram',
    description:
      'Com `last_sync`, o `sync_timestamp` da resposta anterior, vem só o que mudou desde então, inclusive, e `deleted` traz os ids a remover.',
    query: ProductQuery,
    reply: z
      .object({
        success: Success,
        data: z.array(TillProduct),
        sync_timestamp: Moment,
        total: Count,
        deleted: z.array(PositiveId).optional(),
      })
      .meta({
        id: 'ProductDownload',
        examples: [
          {
            success: true,
            data: [EXAMPLE_PRODUCT],
            sync_timestamp: '2026-11-21T11:17:15.123Z',
            total: 1,
            deleted: [12],
          },
        ],
      }),
  },
  customerList: {
    method: 'get',
    path: '/sync/customers',
    operation: 'downloadCustomers',
    summary: 'Baixa todos os clientes, ou os que mudaram',
    description:
      'Como o download de produtos. Um crédito de troca movimentado é uma mudança; `deleted` traz os clientes excluídos e os anonimizados.',
    query: CustomerQuery,
    reply: z
      .object({
        success: Success,
        data: z.array(TillCustomer),
        sync_timestamp: Moment,
        total: Count,
        deleted: z.array(PositiveId),
      })
      .meta({
        id: 'CustomerDownload',
        examples: [
          {
            success: true,
            data: [EXAMPLE_CUSTOMER],
            sync_timestamp: '2026-11-21T11:17:15.123Z',
            total: 1,
            deleted: [7],
          },
        ],
      }),
  },
  voucher: {
    method: 'get',
    path: '/sync/vouchers',
    operation: 'getVoucher',
    summary: 'Mostra o saldo e a validade de um vale-troca',
    query: VoucherQuery,
    reply: z
      .object({ success: Success, voucher: z.string(), balance: z.number(), valid_until: z.iso.date().nullable() })
      .meta({
        id: 'VoucherBalance',
        examples: [{ success: true, voucher: 'K7QM4PXZ2A', balance: 18.9, valid_until: '2027-02-19' }],
      }),
  },
  items: {
    path: '/sync/items',
    operation: 'uploadItems',
    summary: 'Envia produtos cadastrados no caixa',
    description:
      'Envie antes das vendas que os citam em `offline_item_id`. O mesmo `offline_id` é o mesmo produto; um código de barras que já existe é o produto que o tem.',
    body: z.object({ items: z.array(OfflineItemInput).max(MAX_SALES) }).meta({ id: 'ItemsUpload' }),
    example: { items: [{ offline_id: 'caixa1-p1', name: 'Bolo de milho', price: 12.5, unit: 'UN' }] },
    ...uploadOf('ItemsUploadResult', OfflineItemResult, '1 produto: 1 novos, 0 já cadastrados, 0 com erro.', {
      offline_id: 'caixa1-p1',
      status: 'created',
      item_id: 9,
    }),
  },
  customers: {
    path: '/sync/customers',
    operation: 'uploadCustomers',
    summary: 'Envia clientes cadastrados no caixa',
    description:
      'Envie antes das vendas que os citam em `offline_customer_id`. O mesmo `offline_id` é o mesmo cliente, e também o mesmo nome com o mesmo documento.',
    body: z.object({ customers: z.array(OfflineCustomerInput).max(MAX_SALES) }).meta({ id: 'CustomersUpload' }),
    example: { customers: [{ offline_id: 'caixa1-c1', name: 'Maria Souza', document: '529.982.247-25' }] },
    ...uploadOf('CustomersUploadResult', OfflineCustomerResult, '1 cliente: 1 novos, 0 já cadastrados, 0 com erro.', {
      offline_id: 'caixa1-c1',
      status: 'created',
      customer_id: 4,
    }),
  },
  sales: {
    path: '/sync/sales',
    takesEnded: 'sales',
    operation: 'uploadSales',
    summary: 'Envia vendas feitas no caixa, também sem conexão',
    description:
      'Cada venda é registrada ou recusada por si, e a resposta é sempre 200, com um resultado por venda, na ordem do envio. Sem resposta, envie o mesmo de novo: nada é registrado duas vezes.',
    body: z
      .object({ sales: z.array(chained(OfflineSaleInput, 'OfflineSale')).max(MAX_SALES) })
      .meta({ id: 'SalesUpload' }),
    example: { sales: [sale] },
    ...uploadOf('UploadResult', OfflineSaleResult, '1 venda processada: 1 registrada, 0 com erro.', {
      offline_id: 'caixa1-000123',
      status: 'created',
      sale_id: 981,
    }),
  },
  returns: {
    path: '/sync/returns',
    takesEnded: 'returns',
    operation: 'uploadReturns',
    summary: 'Envia devoluções feitas no caixa, também sem conexão',
    description:
      'Como o envio de vendas: um resultado por devolução, na ordem do envio, e a resposta é sempre 200. A devolução é um fato: o que volta a mais, ou um valor diferente do devido, só gera avisos. A que chega antes da sua venda espera por ela (`awaits_sale`).',
    body: z
      .object({ returns: z.array(chained(OfflineReturnInput, 'OfflineReturn')).max(MAX_SALES) })
      .meta({ id: 'ReturnsUpload' }),
    example: { returns: [goodsReturned] },
    ...uploadOf('ReturnsUploadResult', OfflineReturnResult, '1 devolução processada: 1 registrada, 0 com erro.', {
      offline_id: 'caixa1-dev-000007',
      status: 'created',
      return_id: 12,
    }),
  },
  cash: {
    path: '/sync/cash',
    takesEnded: 'movements',
    operation: 'uploadCashMovements',
    summary: 'Envia o que aconteceu com o dinheiro da gaveta',
    description:
      'Abertura, entradas (`in`), retiradas (`out`), contas recebidas em dinheiro (`received`) e fechamento das sessões de caixa, em qualquer ordem. Cada movimento é registrado ou recusado por si, e a resposta é sempre 200, com um resultado por movimento. Sem resposta, envie o mesmo de novo: nada é registrado duas vezes.',
    body: z
      .object({ movements: z.array(chained(CashMovementInput, 'CashMovement')).max(MAX_SALES) })
      .meta({ id: 'CashUpload' }),
    example: { movements },
    ...uploadOf('CashUploadResult', CashMovementResult, '1 movimento processado: 1 registrado, 0 com erro.', {
      offline_id: 'caixa1-g1',
      session_id: 'caixa1-41',
      status: 'created',
    }),
  },
  conflicts: {
    method: 'post',
    path: '/sync/check-conflicts',
    bodyBytes: LIST_BODY_BYTES,
    operation: 'checkConflicts',
    summary: 'Mostra quais produtos mudaram desde a versão do caixa',
    description: 'Um movimento de estoque não é um conflito.',
    body: z.object({ products: z.array(KnownProduct).max(MAX_CHECKED) }).meta({ id: 'KnownProducts' }),
    example: { products: [{ id: 9, updated_at: '2026-11-20T11:17:15.123Z' }] },
    reply: z
      .object({ success: Success, conflicts: z.array(ProductConflict), has_conflicts: z.boolean(), checked_at: Moment })
      .meta({
        id: 'ConflictCheck',
        examples: [
          {
            success: true,
            conflicts: [
              {
                id: 9,
                reason: 'updated',
                client_updated_at: '2026-11-20T11:17:15.123Z',
                server_updated_at: '2026-11-21T11:17:15.123Z',
                product: EXAMPLE_PRODUCT,
              },
            ],
            has_conflicts: true,
            checked_at: '2026-11-21T11:17:16.000Z',
          },
        ],
      }),
  },
} as const satisfies Record<string, SyncOperation>

/** Failures of an operation: those of authentication, body and query, and its own. */
export function listFailures(operation: SyncOperation): FailureCode[] {
  const { isOpen, bodyBytes, query, failures = [] } = operation
  const ofBody: FailureCode[] = [
    'request_timeout',
    'payload_too_large',
    'unsupported_media_type',
    'malformed_json',
    'validation_failed',
  ]
  const ofCompany: FailureCode[] = ['bytes_used_up', 'share_taken']
  return [
    ...(isOpen ? [] : (['missing_token', 'invalid_token'] as const)),
    'https_required',
    ...(bodyBytes ? ofBody : []),
    ...(bodyBytes && !isOpen ? ofCompany : []),
    ...(query ? (['validation_failed'] as const) : []),
    ...failures,
    'rate_limited',
    'internal_error',
    'unavailable',
  ]
}
