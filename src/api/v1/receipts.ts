import * as z from 'zod'
import { pathId } from '#http/paths.ts'
import { receiptOf } from '#integrity/sale-receipts.ts'
import { type Route, readRoute } from '../api-route.ts'
import { LedgerEvent } from './event-routes.ts'

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
    const made = id === null ? null : await receiptOf(making, id)
    return made && { body: JSON.stringify(made.receipt), revision: made.revision }
  },
})
