import * as z from 'zod'
import { cancelSale } from '#commands/cancel-sale.ts'
import { FiscalDocumentBody, recordFiscalDocument } from '#commands/fiscal-document-commands.ts'
import { assignSaleCustomer, registerSale, SaleCustomerBody, SaleInput } from '#commands/register-sale.ts'
import { SaleRefunds } from '#commands/returned-goods.ts'
import { FISCAL_CODES, type FiscalCodes } from '#domain/fiscal-values.ts'
import { CalendarDate } from '#domain/instant.ts'
import { CARD_BRANDS } from '#domain/payment-rules.ts'
import { optionalText } from '#domain/text.ts'
import { FISCAL_DOCUMENT_STATUSES, SALE_WARNINGS } from '#events/sale-events.ts'
import { pathId, withId } from '#http/paths.ts'
import { makeSaleReceipt } from '#integrity/sale-receipts.ts'
import type { SaleObject } from '#projections/sales.ts'
import { getSale, getSaleByExternalId, listSales } from '#queries/sale-queries.ts'
import {
  Amount,
  ContractMetadata,
  ContractRecordId,
  NullableText,
  QueryFlag,
  queryShape,
  ThreeDecimals,
  Timestamp,
} from '#records/field.ts'
import { SALE_FILTERS } from '#records/list-filters.ts'
import { commandRoute, type Route, readRoute } from '../api-route.ts'
import { singleSchema, warnedSchema } from '../contract/contract-document.ts'
import { LedgerEvent } from './event-routes.ts'
import { getByExternalRoute, getRoute, listRoute } from './record-routes.ts'
import { paymentTypeRoutes } from './store-routes.ts'

const eventExample = {
  id: '019aa5c2-6c1e-7c2f-9d11-000000000001',
  type: 'SaleCompleted',
  version: 1,
  stream: 'company-1',
  revision: 1,
  recorded_at: '2026-11-21T11:17:15.123Z',
  subject: 'sale/2',
  origin: 'api',
  actor: 'api_key/4',
  request_id: '019aa5c2-6c1d-7a31-8a55-0f2f2b7c9d10',
  idempotency: null,
  previous_hash: '84ba2e3efe3ec9eb1693ac8d9d76371b8a983697227a09ffd5026b1cbc26c28a',
  data: {
    id: 2,
    external_id: 'PED-2',
    customer: {
      id: 17,
      external_id: 'CLI-001',
      name: { sealed: 'AX3qAX3qAX3qAX3qAX3qAX3qAX3qAX3qAX3qAX3qAX3qAX3qAX3qAX3qAX3qAX3qAX3qAX3qAX3qAX3q' },
    },
    sold_at: '2026-11-21T11:17:15.000Z',
    items: [
      {
        catalog_item_id: 7,
        external_id: 'SKU-7',
        description: 'Café torrado 500 g',
        quantity: '2.000',
        unit_price: '20.65',
        total: '41.30',
        moves_stock: true,
      },
    ],
    payments: [{ payment_type_id: 1, name: 'Dinheiro', amount: '50.00', surcharge: '0.00', net: '41.30' }],
    subtotal: '41.30',
    delivery_fee: '0.00',
    total: '41.30',
    change: '8.70',
  },
  hash: '883f2e3dd92de2a60b56a79f56f9aec9b33421eec9b43a87a52dc5bd3667074e',
}

const example = {
  version: 1,
  event: eventExample,
  proof: `c2sp.org/tlog-proof@v1
index 1
W4w57OLdB3e4SftfXRbp/S/WxFdKUWmlyLlJi8GRxTw=

tillbook/0198c1f2-7e1a-7c3e-8a55-6f1f3d9f0b11/company-1
2
tEk5owRgVkQAOgPxme2vVnhIAltHZZPieO2d5NS512g=

— tillbook/0198c1f2-7e1a-7c3e-8a55-6f1f3d9f0b11/company-1 XBJSP5AD1BYgLRkYqA8iVUSS2bwJIYOfo3HHcUCH3cdf1VOX6FM6rDMHFxdPn5EW5Jvb5q8gV7TGTEU8e43tVWpBRwI=
`,
}

const proved = { event: LedgerEvent, proof: z.string() }

/** The receipt file: `src/integrity/sale-receipts.ts`. */
const Receipt = z
  .strictObject({
    version: z.literal(1),
    ...proved,
    cancellation: z.strictObject(proved).meta({ id: 'ReceiptCancellation' }).optional(),
  })
  .meta({ id: 'Receipt', examples: [example] })

export const receiptRoute: Route = readRoute({
  path: '/sales/:id/receipt',
  scope: 'sales:read',
  operation: 'getSaleReceipt',
  summary: 'Mostra o recibo de uma venda, que qualquer um confere sem o serviço',
  description:
    'A resposta é o próprio arquivo do recibo: o evento como está no livro, com os dados pessoais lacrados, a prova de que está nele e a cabeça assinada do livro; de uma venda cancelada, o cancelamento também. Confira-o em /conferir ou com tillbook-verify. Se a venda é mais nova que a última assinatura, outra é feita na hora, no máximo uma por segundo: a chamada espera até 5 segundos, e então responde 503.',
  reply: Receipt,
  async read({ params, ...making }) {
    const id = pathId(params.id)
    const made = id === null ? null : await makeSaleReceipt(making, id)
    return made && { body: JSON.stringify(made.receipt), revision: made.revision }
  },
})

/** Request example of a sale: an item of the catalog, one outside it, and change for cash. */
const saleExample = {
  external_id: 'PEDIDO-1001',
  customer_external_id: 'CLI-001',
  sold_at: '2026-11-21T08:17:15-03:00',
  delivery_fee: '5.00',
  seller: { name: 'Ana' },
  items: [
    { catalog_item_external_id: 'CAFE-500', quantity: '2', discount: '1.80' },
    { description: 'Embalagem para presente', quantity: '1', unit_price: '3.50' },
  ],
  discount: '3.00',
  payments: [{ payment_type_id: 1, amount: '50.00' }],
}

/** Request example of a fiscal document. */
export const fiscalDocumentExample = {
  model: '65',
  series: '1',
  number: '1234',
  access_key: '35260111222333000181650010000012341000012345',
  protocol: '135260000012345',
  authorized_at: '2026-11-21T08:17:20-03:00',
  status: 'authorized',
}

/** Lines in answers. */
export const lineExamples = [
  {
    catalog_item_id: 9,
    external_id: 'CAFE-500',
    description: 'Café torrado 500 g',
    quantity: '2.000',
    unit_price: '18.90',
    total: '37.80',
  },
  {
    catalog_item_id: null,
    external_id: null,
    description: 'Embalagem para presente',
    quantity: '1.000',
    unit_price: '3.50',
    total: '3.50',
  },
]

/** Lines in answers of a sale: with discounts, and the fiscal codes of a catalog item. */
const soldLineExamples = lineExamples.map((line, position) => ({
  ...line,
  ...(position === 0
    ? { ncm: '09012100', cest: '1709600', origin: '0', cfop: '5102', csosn: '102', total: '36.00' }
    : {}),
  ...(position === 0 ? { discount: '1.80', discount_share: '2.73' } : { discount: '0.00', discount_share: '0.27' }),
  returned: '0.000',
}))

/** The same sale in answers. */
const shownSaleExample = {
  id: 981,
  external_id: 'PEDIDO-1001',
  offline_id: null,
  cash_session_id: null,
  order_id: null,
  status: 'completed',
  origin: 'api',
  customer: { id: 17, external_id: 'CLI-001', name: 'Maria da Silva' },
  seller: { user_id: null, name: 'Ana' },
  sold_at: '2026-11-21T08:17:15.000-03:00',
  items: soldLineExamples,
  payments: [{ payment_type_id: 1, name: 'Dinheiro', amount: '50.00', surcharge: '0.00', net: '41.50' }],
  subtotal: '39.50',
  discount: '3.00',
  delivery_fee: '5.00',
  total: '41.50',
  change: '8.50',
  refunded_total: '0.00',
  returned_total: '0.00',
  warnings: [],
  metadata: null,
  fiscal_document: null,
  cancelled_at: null,
  cancel_reason: null,
  cancel_refunds: null,
  created_at: '2026-11-21T08:17:15.123-03:00',
  updated_at: '2026-11-21T08:17:15.123-03:00',
}

/** Customer or supplier with the name at the time of the record. */
const Party = z
  .strictObject({ id: ContractRecordId, external_id: NullableText, name: NullableText })
  .meta({ id: 'Party' })

/** Fields of a line of a sale or an order. */
export const lineShape = {
  catalog_item_id: ContractRecordId.nullable(),
  external_id: NullableText,
  description: z.string(),
  quantity: ThreeDecimals,
  unit_price: Amount,
  total: Amount,
}

/** Present only if the item had them when it was sold. */
const soldCodes = Object.fromEntries(FISCAL_CODES.map((field) => [field, z.string().optional()])) as Record<
  keyof FiscalCodes,
  z.ZodOptional<z.ZodString>
>

const SaleItem = z
  .strictObject({ ...lineShape, ...soldCodes, discount: Amount, discount_share: Amount, returned: ThreeDecimals })
  .meta({ id: 'SaleItem' })

const SaleCard = z
  .strictObject({
    brand: z.enum(CARD_BRANDS).nullable(),
    nsu: NullableText,
    authorization: NullableText,
    installments: z.int().positive().nullable(),
    acquirer_cnpj: NullableText,
    integrated: z.boolean().nullable(),
  })
  .meta({ id: 'SaleCard' })

const Settlement = z.strictObject({ due_on: CalendarDate, net: Amount }).meta({ id: 'AcquirerSettlement' })

/** `card` and `end_to_end_id` are present only if they were sent. */
const SalePayment = z
  .strictObject({
    payment_type_id: ContractRecordId,
    name: z.string(),
    amount: Amount,
    surcharge: Amount,
    net: Amount,
    card: SaleCard.optional(),
    end_to_end_id: z.string().optional(),
    /** Only of tills. */
    voucher: z.string().optional(),
    /** Only of payment types with terms of an acquirer. */
    acquirer_fee: Amount.optional(),
    settles_on: CalendarDate.optional(),
    settlements: z.array(Settlement).optional(),
    acquirer_fee_refunded: z.literal(true).optional(),
  })
  .meta({ id: 'SalePayment' })

export const SaleSeller = z
  .strictObject({ user_id: ContractRecordId.nullable(), name: NullableText })
  .meta({ id: 'Seller' })

export const FiscalDocumentReport = FiscalDocumentBody.meta({ id: 'FiscalDocumentInput' })

export const RecordedDocument = z
  .strictObject({
    model: NullableText,
    series: NullableText,
    number: z.string(),
    access_key: NullableText,
    protocol: NullableText,
    authorized_at: Timestamp.nullable(),
    status: z.enum(FISCAL_DOCUMENT_STATUSES),
    xml_sha256: NullableText,
    xml_url: NullableText,
    issued_at: Timestamp,
  })
  .meta({ id: 'FiscalDocument' })

const SaleWarning = z
  .strictObject({
    code: z.enum(SALE_WARNINGS),
    catalog_item_id: ContractRecordId.optional(),
    requested: ThreeDecimals.optional(),
    available: ThreeDecimals.optional(),
    sale_id: ContractRecordId.optional(),
  })
  .meta({ id: 'SaleWarning' })

const SaleMoneyBack = z
  .strictObject({ payment_type_id: ContractRecordId, name: z.string(), amount: Amount })
  .meta({ id: 'SaleMoneyBack' })

const Sale = z
  .strictObject({
    id: ContractRecordId,
    external_id: NullableText,
    offline_id: NullableText,
    cash_session_id: NullableText,
    order_id: ContractRecordId.nullable(),
    status: z.enum(['completed', 'cancelled']),
    origin: z.enum(['api', 'pdv', 'system']),
    customer: Party.nullable(),
    seller: SaleSeller.nullable(),
    sold_at: Timestamp,
    items: z.array(SaleItem),
    payments: z.array(SalePayment),
    subtotal: Amount,
    discount: Amount,
    delivery_fee: Amount,
    total: Amount,
    change: Amount,
    refunded_total: Amount,
    returned_total: Amount,
    warnings: z.array(SaleWarning),
    metadata: ContractMetadata,
    fiscal_document: RecordedDocument.nullable(),
    cancelled_at: Timestamp.nullable(),
    cancel_reason: NullableText,
    cancel_refunds: z.array(SaleMoneyBack).nullable(),
    created_at: Timestamp,
    updated_at: Timestamp,
  })
  .meta({ id: 'Sale', examples: [shownSaleExample] }) satisfies z.ZodType<SaleObject>

/** `strict=true` refuses what is warned of without. */
const STRICT = z.strictObject({ strict: QueryFlag })

/** Sales are registered complete and never edited, so there is no PATCH. */
export const saleRoutes: readonly Route[] = [
  listRoute({
    path: '/sales',
    scope: 'sales:read',
    operation: 'listSales',
    summary: 'Lista as vendas',
    ofLedger: true,
    record: Sale,
    filters: queryShape(SALE_FILTERS),
    list: (reader, query, { timezone }) => listSales(reader, { ...query, timezone }),
  }),
  ...paymentTypeRoutes,
  getByExternalRoute({
    path: '/sales/by-external/:external_id',
    scope: 'sales:read',
    operation: 'getSaleByExternalId',
    summary: 'Mostra a venda com este external_id',
    record: Sale,
    get: getSaleByExternalId,
    fromReplica: true,
  }),
  getRoute({
    path: '/sales/:id',
    scope: 'sales:read',
    operation: 'getSale',
    summary: 'Mostra uma venda',
    record: Sale,
    get: getSale,
    fromReplica: true,
  }),
  receiptRoute,
  commandRoute({
    method: 'post',
    path: '/sales',
    scope: 'sales:write',
    operation: 'createSale',
    summary: 'Registra uma venda paga',
    description:
      'Os pagamentos somam o total; o que passa dele é troco e exige dinheiro. Uma venda de 0.00 não precisa deles. Falta de estoque recusa a venda inteira. Um Pix ou uma transação de cartão que já está em outra venda não cancelada é um aviso, `payment_already_used`; com `strict=true`, é 422.',
    body: SaleInput.meta({ id: 'SaleInput' }),
    example: saleExample,
    reply: warnedSchema(Sale),
    refusals: [
      'amount_limit',
      'duplicate_resource',
      'person_forgotten',
      'insufficient_stock',
      'payment_mismatch',
      'payment_already_used',
    ],
    query: STRICT,
    command: registerSale,
    input: (_params, body, _dependencies, query) => ({ ...body, strict: (query as z.infer<typeof STRICT>).strict }),
  }),
  commandRoute({
    method: 'post',
    path: '/sales/:id/cancel',
    scope: 'sales:write',
    operation: 'cancelSale',
    summary: 'Cancela uma venda registrada pela API e devolve o estoque',
    description:
      '`refunds` diz como o dinheiro voltou, e soma o que foi pago, menos o vendido a prazo; sem ele, nada é anotado. Cancelar de novo responde 200 com a venda como está. A venda de um pedido pago é cancelada com o estorno do pagamento: aqui a resposta é 409 `managed_by_order`, com `order_id`. Uma venda com devoluções não é cancelada: 409 `sale_returned`.',
    body: z
      .strictObject({ reason: optionalText(500), refunds: SaleRefunds.nullish() })
      .meta({ id: 'SaleCancellationInput' }),
    example: { reason: 'Desistência do cliente', refunds: [{ payment_type_id: 1, amount: '41.50' }] },
    status: 200,
    reply: singleSchema(Sale),
    refusals: ['managed_by_pdv', 'managed_by_order', 'fiscal_document_issued', 'payment_mismatch', 'sale_returned'],
    command: cancelSale,
    input: (params, body) => withId(params, body),
  }),
  commandRoute({
    method: 'put',
    path: '/sales/:id/customer',
    scope: 'sales:write',
    operation: 'putSaleCustomer',
    summary: 'Informa o cliente de uma venda a prazo feita sem cliente',
    description:
      'As contas a receber da venda sem cliente também o recebem. Repetível; uma venda que já tem outro cliente, que não é a prazo ou que está cancelada responde 422.',
    body: SaleCustomerBody.meta({ id: 'SaleCustomerInput' }),
    example: { customer_external_id: 'CLI-001' },
    status: 200,
    reply: singleSchema(Sale),
    refusals: ['person_forgotten'],
    command: assignSaleCustomer,
    target: { kind: 'sale' },
    input: (params, body) => withId(params, body),
  }),
  commandRoute({
    method: 'put',
    path: '/sales/:id/fiscal-document',
    scope: 'sales:write',
    operation: 'putFiscalDocument',
    summary: 'Registra o documento fiscal de uma venda, emitido por outro sistema',
    description:
      'Repetível. Enquanto o documento está autorizado ou em contingência, a venda não pode ser cancelada; um documento autorizado não dá lugar a outro antes de cancelado.',
    body: FiscalDocumentReport,
    example: fiscalDocumentExample,
    status: 200,
    reply: singleSchema(Sale),
    refusals: ['fiscal_document_issued', 'duplicate_resource'],
    command: recordFiscalDocument,
    target: { kind: 'sale' },
    input: (params, { protocol = null, authorized_at = null, xml_sha256 = null, xml_url = null, ...document }) =>
      withId(params, { ...document, protocol, authorized_at, xml_sha256, xml_url }),
  }),
]
