import { SCOPES } from '#domain/rights.ts'
import { type DataOf, event } from '#events/catalogue.ts'
import { COMPANY_ID } from './given.ts'

/** Events of a small shop with all fields; a test names only the relevant ones. */

export const companyRegistered = (fields: Partial<DataOf<'CompanyRegistered'>> = {}) =>
  event('CompanyRegistered', {
    id: COMPANY_ID,
    name: 'Padaria Ipê',
    cnpj: '11.222.333/0001-81',
    plan: 'api',
    timezone: 'America/Sao_Paulo',
    logo_url: null,
    state_registration: null,
    tax_regime: null,
    ...fields,
  })

export const userCreated = (fields: Partial<DataOf<'UserCreated'>> = {}) =>
  event('UserCreated', { id: 1, name: 'Ana', email: 'ana@loja.example', role: 'clerk', ...fields })

export const userInvited = (fields: Partial<DataOf<'UserInvited'>> = {}) =>
  event('UserInvited', { id: 1, name: 'Ana', email: 'ana@loja.example', role: 'clerk', ...fields })

export const paymentTypeCreated = (fields: Partial<DataOf<'PaymentTypeCreated'>> = {}) =>
  event('PaymentTypeCreated', {
    id: 1,
    name: 'Dinheiro',
    kind: 'cash',
    fee_percentage: '0.00',
    due_days: 30,
    acquirer_rate: null,
    settles_in_days: null,
    ...fields,
  })

/** Fields of a customer or supplier with nothing but a name. */
export const noDetails = {
  external_id: null,
  person_type: 'PF',
  document: null,
  phone: null,
  email: null,
  address: null,
  notes: null,
} as const

export const customerCreated = (fields: Partial<DataOf<'CustomerCreated'>> = {}) =>
  event('CustomerCreated', { id: 1, ...noDetails, name: 'Ana', ...fields })

export const supplierCreated = (fields: Partial<DataOf<'SupplierCreated'>> = {}) =>
  event('SupplierCreated', { id: 1, ...noDetails, name: 'Moinho', trade_name: null, ...fields })

export const apiKeyCreated = (fields: Partial<DataOf<'ApiKeyCreated'>> = {}) =>
  event('ApiKeyCreated', {
    id: 1,
    name: 'ERP',
    prefix: 'tb_live_abcd',
    scopes: [...SCOPES],
    expires_at: null,
    ...fields,
  })

export const webhookRegistered = (fields: Partial<DataOf<'WebhookRegistered'>> = {}) =>
  event('WebhookRegistered', {
    id: 1,
    url: 'https://erp.example/eventos',
    events: ['sale.completed'],
    description: null,
    ...fields,
  })

export const categoryCreated = (fields: Partial<DataOf<'CategoryCreated'>> = {}) =>
  event('CategoryCreated', { id: 1, external_id: null, name: 'Bebidas', ...fields })

/** Fields of a product with nothing but a name and a price. */
export const plainItem = {
  external_id: null,
  type: 'product',
  sku: null,
  barcode: null,
  category_id: null,
  unit: null,
  cost: null,
  gtin: null,
  ncm: null,
  cest: null,
} as const

export const itemCreated = (fields: Partial<DataOf<'CatalogItemCreated'>> = {}) =>
  event('CatalogItemCreated', { id: 1, ...plainItem, name: 'Café', price: '10.00', stock: null, ...fields })

export const stockCounted = (id: number, before: string | null, after: string | null) =>
  event('StockAdjusted', { id, reason: 'count', before, after })

/** A sale of one ad-hoc item for 10.00 in cash. */
export const saleCompleted = (fields: Partial<DataOf<'SaleCompleted'>> = {}) =>
  event('SaleCompleted', {
    id: 1,
    external_id: null,
    customer: null,
    sold_at: '2026-03-10T14:00:00.000Z',
    items: [
      {
        catalog_item_id: null,
        external_id: null,
        description: 'Bolo',
        quantity: '1.000',
        unit_price: '10.00',
        total: '10.00',
        moves_stock: false,
      },
    ],
    payments: [{ payment_type_id: 1, name: 'Dinheiro', amount: '10.00', surcharge: '0.00', net: '10.00' }],
    subtotal: '10.00',
    delivery_fee: '0.00',
    total: '10.00',
    change: '0.00',
    ...fields,
  })

/** One unit of the first line of a sale, for 10.00. */
export const returnedLine = {
  line: 0,
  catalog_item_id: null,
  description: 'Bolo',
  quantity: '1.000',
  amount: '10.00',
  restock: true,
} as const

/** A return of one ad-hoc item of sale 1, given back in cash. */
export const saleReturned = (fields: Partial<DataOf<'SaleReturned'>> = {}) =>
  event('SaleReturned', {
    id: 1,
    sale_id: 1,
    external_id: null,
    reason: 'Defeito',
    returned_at: '2026-03-10T14:30:00.000Z',
    items: [returnedLine],
    delivery_fee: '0.00',
    total: '10.00',
    refunds: [{ payment_type_id: 1, name: 'Dinheiro', amount: '10.00' }],
    stock: [],
    cash_session_id: null,
    ...fields,
  })

/** A return of one unit that a till uploaded, and that is not recorded. */
export const uploadedReturn = {
  id: 2,
  sale_offline_id: 'pdv-9',
  sale_id: null,
  offline_id: 'dev-1',
  fingerprint: 'e'.repeat(64),
  user_id: 1,
  reason: 'Defeito',
  returned_at: '2026-03-10T14:30:00.000Z',
  items: [{ line: 0, quantity: '1.000', restock: true }],
  refunds: [{ payment_type_id: 1, name: 'Dinheiro', amount: '10.00' }],
  on_credit: '0.00',
  store_credit: '0.00',
  customer_id: null,
  cash_session_id: 's1',
}

/** A recorded fiscal document with all optional fields. */
export const fiscalDocument = {
  model: '65',
  series: '1',
  number: '1234',
  access_key: '35260111222333000181650010000012341000012345',
  protocol: '135260000012345',
  authorized_at: '2026-03-10T14:00:01.000Z',
  status: 'authorized' as const,
  xml_sha256: null,
  xml_url: null,
}

/** A till's upload of a sale for 10.00 in cash, of product 10, with the fields that the service adds. */
export const offlineSale = {
  id: 1,
  offline_id: 'pdv-1',
  fingerprint: 'f'.repeat(64),
  sold_at: '2026-03-10T14:00:00.000Z',
  customer: null,
  items: [
    {
      catalog_item_id: 10,
      external_id: null,
      description: 'Café',
      quantity: '1.000',
      unit_price: '10.00',
      total: '10.00',
      moves_stock: false,
      discount: '0.00',
    },
  ],
  payments: [
    {
      payment_type_id: 1,
      name: 'Dinheiro',
      amount: '10.00',
      surcharge: '0.00',
      net: '10.00',
      status: 'completed' as const,
    },
  ],
  discount: '0.00',
  total: '10.00',
  amount_received: '10.00',
  change: '0.00',
  warnings: [],
}

export const offlineSaleCompleted = (fields: Partial<DataOf<'OfflineSaleCompleted'>> = {}) =>
  event('OfflineSaleCompleted', {
    ...offlineSale,
    receivable_ids: [],
    received: (fields.payments ?? offlineSale.payments).some(({ status }) => status === 'pending')
      ? '0.00'
      : (fields.total ?? offlineSale.total),
    ...fields,
  })

export const offlineSaleCancelled = (fields: Partial<DataOf<'OfflineSaleCancelled'>> = {}) =>
  event('OfflineSaleCancelled', { ...offlineSale, ...fields })

/** Fields of an account of 100.00 without a party, due on the day of the scenarios. */
export const plainAccount = {
  external_id: null,
  description: 'Aluguel',
  amount: '100.00',
  due_date: '2026-03-10',
} as const
export const noCustomer = { customer_id: null, customer_external_id: null, customer_name: null } as const
export const noSupplier = { supplier_id: null, supplier_external_id: null, supplier_name: null } as const

export const receivableCreated = (fields: Partial<DataOf<'ReceivableCreated'>> = {}) =>
  event('ReceivableCreated', { id: 1, origin: 'api', ...plainAccount, ...noCustomer, sale_id: null, ...fields })

export const payableCreated = (fields: Partial<DataOf<'PayableCreated'>> = {}) =>
  event('PayableCreated', { id: 1, origin: 'api', ...plainAccount, ...noSupplier, sale_id: null, ...fields })

/** A settlement at noon in São Paulo, on the day of the scenarios. */
export const settlement = {
  paid_at: '2026-03-10T15:00:00.000Z',
  settled_on: '2026-03-10',
  payment_method: 'pix',
} as const

/** A payment of 100.00, which settles an account of `plainAccount`, at the time of `settlement`. */
export const plainPayment = {
  kind: 'payment',
  amount: '100.00',
  interest: '0.00',
  fine: '0.00',
  discount: '0.00',
  excess: '0.00',
  paid_at: settlement.paid_at,
  paid_on: settlement.settled_on,
  payment_method: 'pix',
} as const

/** Events of a receivable that is paid in full. */
export const receivablePaid = (id: number, fields: Partial<DataOf<'ReceivablePaymentReceived'>> = {}) =>
  event('ReceivablePaymentReceived', { id, ...plainPayment, ...fields })

export const payablePaid = (id: number, fields: Partial<DataOf<'PayablePaymentMade'>> = {}) =>
  event('PayablePaymentMade', { id, ...plainPayment, ...fields })

export const storeCreated = (fields: Partial<DataOf<'StoreCreated'>> = {}) =>
  event('StoreCreated', {
    id: 1,
    alias: 'padaria-ipe',
    commission_percentage: '5.00',
    sandbox: true,
    secrets: ['access_token', 'notification_secret'],
    ...fields,
  })

/** An order of one ad-hoc item for 100.00 at store 1. */
export const orderPlaced = (fields: Partial<DataOf<'OrderPlaced'>> = {}) =>
  event('OrderPlaced', {
    id: 1,
    external_id: null,
    store_id: 1,
    store_alias: 'padaria-ipe',
    customer: { id: null, external_id: null, name: 'Ana', email: null, document: null, phone: null },
    items: [
      {
        catalog_item_id: null,
        external_id: null,
        description: 'Bolo',
        quantity: '1.000',
        unit_price: '100.00',
        total: '100.00',
      },
    ],
    subtotal: '100.00',
    delivery_fee: '0.00',
    total: '100.00',
    ...fields,
  })

/** The id of attempt `n` to pay. */
export const attemptId = (n: number): string => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`

export const paymentStarted = (n: number, fields: Partial<DataOf<'PaymentStarted'>> = {}) =>
  event('PaymentStarted', {
    id: 1,
    attempt_id: attemptId(n),
    idempotency_key: null,
    payment_method_id: 'pix',
    amount: '100.00',
    commission_percentage: '5.00',
    ...fields,
  })

/** Payment `p<n>` of attempt `n`, waiting at the provider. */
export const paymentRecorded = (n: number, fields: Partial<DataOf<'PaymentRecorded'>> = {}) =>
  event('PaymentRecorded', {
    id: 1,
    provider_payment_id: `p${n}`,
    attempt_id: attemptId(n),
    commission_percentage: '5.00',
    provider_status: 'pending',
    status_detail: null,
    status: 'pending',
    live_mode: false,
    ...fields,
  })

/** Split of 100.00 with a commission of 5 % for the service. */
export const commissionSplit = (n: number) =>
  event('CommissionSplit', {
    id: 1,
    provider_payment_id: `p${n}`,
    percentage: '5.00',
    amount: '5.00',
    store_amount: '95.00',
  })

/** Names payment `p<n>` of order 1 in an event. */
export const ofPayment = (n: number) => ({ id: 1, provider_payment_id: `p${n}` })

/** An approved payment: the provider's status and ours. */
export const approved = { provider_status: 'approved', status: 'paid' } as const

/** Order 1 after the approval of its payment `p1`; its store exists. */
export const orderPaid = () => [
  orderPlaced(),
  paymentStarted(1),
  paymentRecorded(1, approved),
  event('OrderPaid', ofPayment(1)),
  commissionSplit(1),
]

const cashMovement = (offline_id: string) => ({
  id: 1,
  session_id: 'caixa1-1',
  offline_id,
  at: '2026-03-10T11:00:00.000Z',
  reason: null,
  warnings: [],
})

export const cashSessionOpened = (fields: Partial<DataOf<'CashSessionOpened'>> = {}) =>
  event('CashSessionOpened', { ...cashMovement('g-opened'), amount: '100.00', ...fields })

export const cashMoved = (fields: Partial<DataOf<'CashMoved'>> = {}) =>
  event('CashMoved', { ...cashMovement('g-moved'), kind: 'in', amount: '20.00', receivable_id: null, ...fields })

export const cashSessionClosed = (fields: Partial<DataOf<'CashSessionClosed'>> = {}) =>
  event('CashSessionClosed', {
    ...cashMovement('g-closed'),
    at: '2026-03-10T21:00:00.000Z',
    counted: null,
    takings: { drawer: null, sales: 0, ways: [] },
    ...fields,
  })
