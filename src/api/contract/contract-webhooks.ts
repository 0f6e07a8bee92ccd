import type { oas31 } from 'zod-openapi'
import { isBasicEvent, readScopeOf, WEBHOOK_EVENTS, type WebhookEvent } from '#events/catalogue.ts'
import type { Channel } from '#ledger/command.ts'

/** Summary of each event, and the component of its `data`. */
const EVENTS: Readonly<Record<WebhookEvent, readonly [summary: string, component: string]>> = {
  'customer.created': ['Cliente criado', 'Customer'],
  'customer.updated': ['Cliente alterado ou restaurado', 'Customer'],
  'customer.deleted': ['Cliente excluído', 'DeletedRecord'],
  'customer.forgotten': ['Dados pessoais de um cliente excluídos', 'ForgottenRecord'],
  'supplier.created': ['Fornecedor criado', 'Supplier'],
  'supplier.updated': ['Fornecedor alterado ou restaurado', 'Supplier'],
  'supplier.deleted': ['Fornecedor excluído', 'DeletedRecord'],
  'supplier.forgotten': ['Dados pessoais de um fornecedor excluídos', 'ForgottenRecord'],
  'category.created': ['Categoria criada', 'Category'],
  'category.updated': ['Categoria alterada ou restaurada', 'Category'],
  'category.deleted': ['Categoria excluída', 'DeletedRecord'],
  'catalog_item.created': ['Item do catálogo criado', 'CatalogItem'],
  'catalog_item.updated': [
    'Item do catálogo alterado, desativado ou restaurado, ou com estoque contado ou corrigido',
    'CatalogItem',
  ],
  'catalog_item.stock_changed': [
    'Estoque de um item movimentado, por uma venda inclusive: no máximo uma vez por segundo e item, com o estoque a que chegou',
    'CatalogItem',
  ],
  'catalog_item.deleted': ['Item do catálogo desativado', 'DeletedRecord'],
  'receivable.created': ['Conta a receber criada ou restaurada', 'Receivable'],
  'receivable.updated': ['Conta a receber alterada', 'Receivable'],
  'receivable.deleted': ['Conta a receber excluída', 'DeletedRecord'],
  'receivable.payment_received': ['Pagamento de uma conta a receber, também de uma parte', 'Receivable'],
  'receivable.payment_reversed': ['Pagamento de uma conta a receber estornado', 'Receivable'],
  'receivable.settled': ['Conta a receber quitada', 'Receivable'],
  'payable.created': ['Conta a pagar criada ou restaurada', 'Payable'],
  'payable.updated': ['Conta a pagar alterada', 'Payable'],
  'payable.deleted': ['Conta a pagar excluída', 'DeletedRecord'],
  'payable.payment_received': ['Pagamento de uma conta a pagar, também de uma parte', 'Payable'],
  'payable.payment_reversed': ['Pagamento de uma conta a pagar estornado', 'Payable'],
  'payable.settled': ['Conta a pagar quitada', 'Payable'],
  'sale.completed': ['Venda concluída, por qualquer canal', 'Sale'],
  'sale.cancelled': ['Venda cancelada', 'Sale'],
  'sale.returned': ['Mercadoria de uma venda devolvida, inteira ou em parte', 'Return'],
  'sale.return_reversed': ['Devolução registrada por engano desfeita', 'Return'],
  'order.created': ['Pedido registrado', 'Order'],
  'order.paid': ['Pedido pago, também de novo depois de uma contestação ganha', 'Order'],
  'order.delivered': ['Mercadoria do pedido entregue', 'Order'],
  'order.delivery_undone': ['Marca de entregue desfeita: foi posta por engano', 'Order'],
  'order.refunded': ['Pedido estornado, inteiro ou em parte, ou contestado no cartão', 'Order'],
  'order.cancelled': ['Pedido cancelado pela loja, ou o pagamento no provedor', 'Order'],
  'order.expired': ['Pedido expirado sem pagamento; ele aceita nova tentativa', 'Order'],
  'cash_session.closed': ['Sessão de caixa fechada: o esperado e o contado por forma de pagamento', 'CashSession'],
  'till.gap_detected': ['Números de um caixa que não chegaram, cada falta uma vez', 'TillGap'],
}

type Schema = oas31.SchemaObject
type Schemas = Readonly<Record<string, Schema>>

const ORIGINS: readonly Channel[] = ['api', 'pdv', 'system']

const INSTANT = '2026-11-21T08:17:15.123-03:00'

/**
 * The `webhooks` section: requests of all events to registered addresses. A contract with some routes
 * only contains the events whose component it has.
 */
export function webhooksOf(schemas: Schemas): NonNullable<oas31.OpenAPIObject['webhooks']> {
  const documented = WEBHOOK_EVENTS.filter((name) => EVENTS[name][1] in schemas)
  return Object.fromEntries(documented.map((name) => [name, { post: operationOf(name, schemas) }]))
}

function operationOf(name: WebhookEvent, schemas: Schemas): oas31.OperationObject {
  const [summary, component] = EVENTS[name]
  return {
    operationId: `on_${name.replace('.', '_')}`,
    tags: ['Webhooks'],
    summary,
    description: `${isBasicEvent(name) ? 'Incluído em `*` e em `basic`.' : 'Incluído em `*`; `basic` não o inclui.'} Exige o escopo \`${readScopeOf(name)}\` da chave do endereço.`,
    // Receivers verify the signature instead.
    security: [],
    parameters: headersOf(name),
    requestBody: {
      required: true,
      content: {
        'application/json': {
          schema: bodyOf(name, component),
          example: { event: name, occurred_at: INSTANT, origin: 'pdv', data: exampleOf(component, schemas) },
        },
      },
    },
    responses: {
      '2XX': {
        description: 'Recebido. Qualquer outra resposta, ou nenhuma em 10 segundos, é uma falha: a entrega é repetida.',
      },
      '410': { description: 'O endereço não existe mais: é desligado.' },
    },
  }
}

function bodyOf(name: WebhookEvent, component: string): Schema {
  return {
    type: 'object',
    properties: {
      event: { type: 'string', const: name, description: 'O evento.' },
      occurred_at: { type: 'string', format: 'date-time', description: 'Quando foi registrado.' },
      origin: {
        type: 'string',
        enum: [...ORIGINS],
        description: 'Origem: a API, o ponto de venda ou o próprio serviço.',
      },
      data: { $ref: `#/components/schemas/${component}`, description: 'O registro, como era nesse momento.' } as Schema,
    },
    required: ['event', 'occurred_at', 'origin', 'data'],
  }
}

const exampleOf = (component: string, schemas: Schemas): unknown => schemas[component]?.examples?.[0]

/** Headers of deliveries (src/webhooks/sender.ts); `webhook-*` are those of Standard Webhooks. */
function headersOf(name: WebhookEvent): oas31.ParameterObject[] {
  const signature = `sha256=${'5e'.repeat(32)}`
  const uuid: Schema = { type: 'string', format: 'uuid' }
  const count: Schema = { type: 'integer', minimum: 1 }
  const delivery = '01a1b2c3-7d5e-7f00-8a9b-0c1d2e3f4a5b'
  return [
    header('X-Service-Event', 'Nome do evento.', { type: 'string', const: name }, name),
    header('X-Service-Delivery', 'Id da entrega, o mesmo em toda tentativa.', uuid, delivery),
    header('X-Service-Timestamp', 'Segundos Unix desta tentativa.', count, 1795259835),
    header(
      'X-Service-Signature',
      '`sha256=` e o HMAC-SHA256, em hexadecimal minúsculo, de timestamp + `.` + corpo, com o segredo inteiro como chave.',
      { type: 'string' },
      signature,
    ),
    header('X-Service-Signature-Next', 'O mesmo com o próximo segredo; só durante uma troca.', { type: 'string' }),
    header('X-Service-Sequence', 'Conta as entregas do endereço: 1, 2, 3 …; não é assinado.', count, 42),
    header(
      'X-Service-Revision',
      'Posição do evento no livro da empresa; não é assinado.',
      { type: 'integer', minimum: 0 },
      1205,
    ),
    header('traceparent', 'Contexto de rastreamento (W3C) da chamada que causou o evento, se veio.', {
      type: 'string',
    }),
    header('webhook-id', 'Como `X-Service-Delivery`, segundo Standard Webhooks.', uuid, delivery),
    header('webhook-timestamp', 'Como `X-Service-Timestamp`.', count, 1795259835),
    header(
      'webhook-signature',
      'Assinaturas segundo Standard Webhooks, de id + `.` + timestamp + `.` + corpo, separadas por espaço: é esta que se confere.',
      { type: 'string' },
      'v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=',
    ),
  ]
}

/** Required, unless it has no example. */
const header = (name: string, description: string, schema: Schema, example?: unknown): oas31.ParameterObject => ({
  in: 'header',
  name,
  description,
  required: example !== undefined,
  schema,
  ...(example === undefined ? {} : { example }),
})
