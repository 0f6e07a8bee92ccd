import type { RequestHandler } from 'express'
import * as z from 'zod'
import { createDocument, type oas31, type ZodOpenApiOverrideContext, type ZodOpenApiPathsObject } from 'zod-openapi'
import { WARNING_CODES } from '#commands/record-commands.ts'
import { getReadScope, isBasicEvent, WEBHOOK_EVENTS, type WebhookEvent } from '#events/catalogue.ts'
import { type Compress, createFixedAnswer } from '#http/answers.ts'
import { type LimitUnauthenticated, publicDocument } from '#http/edge.ts'
import type { Channel } from '#ledger/command.ts'
import { ContractRecordId, NullableText, Timestamp } from '#records/field.ts'
import type { Route } from '../api-route.ts'
import { BatchError, listCodes } from './contract-errors.ts'
import { API_LISTS, describeRoute, nameLists, tagRoute, toPathTemplate, type ValueLists } from './contract-operation.ts'
import { allowEmptyTexts, assertNamed, fitSchemas, nameBodies } from './generators.ts'
import { GLOSSARY } from './glossary.ts'

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
  'order.dispatched': ['Mercadoria do pedido saiu para entrega, ou está pronta para retirar', 'Order'],
  'order.delivered': ['Mercadoria do pedido entregue', 'Order'],
  'order.delivery_undone': ['Marcas de saída e de entrega desfeitas: foram postas por engano', 'Order'],
  'order.refunded': ['Pedido estornado, inteiro ou em parte, ou contestado no cartão', 'Order'],
  'order.cancelled': ['Pedido cancelado pela loja, ou o pagamento no provedor', 'Order'],
  'order.expired': ['Pedido expirado sem pagamento; ele aceita nova tentativa', 'Order'],
  'cash_session.closed': ['Sessão de caixa fechada: o esperado e o contado por forma de pagamento', 'CashSession'],
  'cash_session.explained': ['Diferença de uma sessão de caixa explicada', 'CashSession'],
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
function webhooksOf(schemas: Schemas): NonNullable<oas31.OpenAPIObject['webhooks']> {
  const documented = WEBHOOK_EVENTS.filter((name) => EVENTS[name][1] in schemas)
  return Object.fromEntries(documented.map((name) => [name, { post: webhookOperation(name, schemas) }]))
}

function webhookOperation(name: WebhookEvent, schemas: Schemas): oas31.OperationObject {
  const [summary, component] = EVENTS[name]
  return {
    operationId: `on_${name.replace('.', '_')}`,
    tags: ['Webhooks'],
    summary,
    description: `${isBasicEvent(name) ? 'Incluído em `*` e em `basic`.' : 'Incluído em `*`; `basic` não o inclui.'} Exige o escopo \`${getReadScope(name)}\` da chave do endereço.`,
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

/** `{"data": <record>}` */
export const singleSchema = (record: z.ZodType) => z.strictObject({ data: record })

const warningShape = {
  code: z.enum(WARNING_CODES),
  field: z.string(),
  message: z.string(),
  /** Only present if the warning is about another record. */
  conflicting_id: ContractRecordId.optional(),
  /** Only present in `payment_already_used`: the other sale. */
  sale_id: ContractRecordId.optional(),
}
const ShownWarning = z.strictObject(warningShape).meta({ id: 'Warning' })
const BatchWarning = z.strictObject({ index: z.int().min(0).max(499), ...warningShape }).meta({ id: 'BatchWarning' })

const WarningsMeta = z.strictObject({ warnings: z.array(ShownWarning).min(1) }).meta({ id: 'WarningsMeta' })

/** `{"data": <record>}`, with `meta` if the request was accepted with warnings. */
export const warnedSchema = (record: z.ZodType) => z.strictObject({ data: record, meta: WarningsMeta.optional() })

const lastPage = { has_more: false, next_cursor: null, limit: 50, synced_at: '2026-11-21T08:17:15.123-03:00' }

const PageMeta = z
  .strictObject({
    has_more: z.boolean(),
    next_cursor: NullableText,
    limit: z.int().min(1).max(200),
    synced_at: Timestamp,
  })
  .meta({ id: 'PageMeta', examples: [lastPage] })

/** A page of a list. */
export const pageSchema = (record: z.ZodType) => z.strictObject({ data: z.array(record), meta: PageMeta })

/** An entry of a deleted listing. */
const DeletedRecord = z.strictObject({ id: ContractRecordId, external_id: NullableText, deleted_at: Timestamp }).meta({
  id: 'DeletedRecord',
  examples: [{ id: 17, external_id: 'CLI-001', deleted_at: '2026-11-21T08:17:15.123-03:00' }],
})

/** Record in a webhook about an erased person; used by webhooks only. */
const TillGap = z
  .strictObject({
    id: z.int().min(1),
    number: z.int().min(1),
    name: z.string(),
    missing: z.array(z.tuple([z.int().min(1), z.int().min(1)])),
  })
  .meta({ id: 'TillGap', examples: [{ id: 3, number: 3, name: 'Balcão', missing: [[119, 119]] }] })

const ForgottenRecord = z
  .strictObject({ id: ContractRecordId, external_id: NullableText, forgotten_at: Timestamp })
  .meta({
    id: 'ForgottenRecord',
    examples: [{ id: 17, external_id: 'CLI-001', forgotten_at: '2026-11-21T08:17:15.123-03:00' }],
  })

export const deletedPageSchema = pageSchema(DeletedRecord)

/** Of any batch; only some batches warn. */
const BatchMeta = z
  .strictObject({
    succeeded: z.int().min(0).max(500),
    failed: z.int().min(0).max(500),
    errors: z.array(BatchError),
    warnings: z.array(BatchWarning).min(1).optional(),
  })
  .meta({ id: 'BatchMeta' })

/** Answer to a batch: the current records, and an entry per failed item. */
export const batchResultSchema = (record: z.ZodType) => z.strictObject({ data: z.array(record), meta: BatchMeta })

/**
 * A JSON document without authentication: limited by address, and under the rule for plain HTTP like every request.
 * Generated at the first request.
 */
export function serveDocument(
  make: () => object,
  limitAnonymous: LimitUnauthenticated,
  compress: Compress,
): RequestHandler {
  const send = createFixedAnswer(() => JSON.stringify(make()), compress)
  return publicDocument(limitAnonymous, (_request, response) => send(response))
}

/** Introduction, valid for every operation. Only plain paragraphs, lists and code: /docs renders nothing else. */
const INTRODUCTION = `\
Cadastros, vendas e contas de uma empresa, para sistemas de terceiros. Cada empresa tem um livro de eventos; listas, saldos e estoque são derivados dele.

**Autenticação.** Toda chamada leva \`Authorization: Bearer <chave>\`. A chave pertence à empresa, tem os escopos marcados na criação e nunca vai na URL. Só HTTPS é atendido; uma chamada por HTTP recebe 403 e não é redirecionada.

**Formas.**

- Um registro vem como \`{"data": {...}}\`, uma lista como \`{"data": [...], "meta": {...}}\`.
- Dinheiro é texto com exatamente duas casas decimais (\`"18.90"\`); quantidades são textos com até três e voltam com três (\`"1.500"\`). Números JSON são recusados.
- Datas com hora exigem fuso (\`Z\` vale) e voltam com o da empresa; dias são \`AAAA-MM-DD\`, no calendário da empresa.
- Campos e parâmetros desconhecidos são recusados com 422, também dentro de lotes. As respostas podem ganhar campos: ignore os que não conhece.
- Em PATCH, campo ausente fica como está e \`null\` o limpa. Em PUT, campo ausente é limpo, exceto o estoque. Num campo de texto opcional, \`""\` vale como \`null\`.

**Listas.** \`limit\` vai de 1 a 200 (padrão 50) e \`cursor\` recebe o \`meta.next_cursor\` anterior. Sem \`updated_since\`, a ordem é a dos ids; com ele, a das mudanças, e usar \`meta.synced_at\` como o próximo \`updated_since\` nunca perde uma mudança. O que foi excluído sai das listas e aparece em \`/deleted\`.

**Repetições.** Todo POST, PUT, PATCH e DELETE aceita \`Idempotency-Key\`, e os POST que liquidam ou cobram a exigem: com a mesma chave e o mesmo corpo (o mesmo JSON, como quer que esteja escrito), a resposta guardada volta por 24 horas com \`Idempotent-Replayed: true\`; com outro corpo, 409 \`idempotency_key_reuse\`. Só sucessos são guardados; um lote que falhou em parte tenta de novo, com a mesma chave e o mesmo corpo, só o que falhou. A Idempotency-Key vale por chave de API. Em um GET a chave é recusada com 422.

**Ensaio.** Com \`Dry-Run: true\`, um POST, PUT, PATCH ou DELETE é decidido sobre o que está registrado agora, com as mesmas recusas, e nada é gravado, entregue ou cobrado. A resposta é 200, com \`data\` como seria (\`null\` numa exclusão; ids novos são \`null\`) e, em \`meta\`, \`warnings\` e \`dry_run\`: \`status\` da chamada de verdade, \`events\` que ela registraria e \`requests\` que faria a outros serviços, sem segredos (de um reenvio, as 20 primeiras).

**Lotes.** Até 500 itens, cada um criado ou substituído pelo \`external_id\` e julgado por si; o lote conta como uma chamada. A resposta é 200 quando todos passam e 207 quando algum falha.

**Erros.** \`{"error": {"code", "message", "details", "request_id"}}\`: decida pelo \`code\`, mostre a \`message\`, guarde o \`request_id\`. \`x-details-by-code\` de \`ErrorDetails\` diz que detalhes cada código tem.

**Limites.** 120 chamadas por minuto e 50.000 por dia, por empresa, somadas as chaves. Além disso, 1 GiB por dia em corpos de requisições, os dos caixas também. Toda resposta traz \`X-RateLimit-Limit\`, \`-Remaining\` e \`-Reset\`, e as de uma chave válida também \`X-RateLimit-Bytes-Limit\` e \`-Bytes-Remaining\`; um 429 ou 503 traz também \`Retry-After\`, em segundos. O JSON de um corpo tem no máximo 64 níveis de listas e objetos, 1.000 campos em um objeto, 100.000 itens em uma lista, 550.000 valores ao todo e 1.048.576 bytes em um texto: além disso, 422.

**Webhooks.** O que é enviado aos endereços registrados, evento por evento, com cabeçalhos e corpo, está na seção \`webhooks\`. \`*\` é todo evento, os de hoje e os que vierem; \`basic\` são os nove básicos, e nomes novos nunca fazem parte de \`basic\`.

**Conferência e compressão.** Todo GET traz \`ETag\`: enviada de volta em \`If-None-Match\`, a resposta é 304, sem corpo, se nada mudou. Respostas de mais de 1 KB vêm em \`br\` ou \`gzip\` para quem os pede em \`Accept-Encoding\`. Nenhuma resposta deve ser guardada por intermediários (\`Cache-Control: no-store\`).

**Leituras menos recentes.** Toda resposta mostra o que estava registrado quando a chamada chegou. Quem lê muito e pode ver o que valia há instantes envia em GET \`X-Min-Ledger-Revision\`, com a revisão que basta, ou 0: \`X-Ledger-Revision\` e \`synced_at\` dizem então de que momento é a resposta, e uma sincronização não perde nada.

**Versões.** A v1 só cresce: campos, operações e códigos novos. O que for incompatível será outra versão, ao lado desta.`

/**
 * Version of the contract, not of the program. The first number is the path's `v1`; the second grows with each
 * addition.
 */
const VERSION = '1.0.0'

/**
 * OpenAPI 3.1 document of API v1, generated from the validating schemas. Without `publicUrl`, its addresses are relative
 * to that of the service.
 */
export function createContract(routes: readonly Route[], publicUrl = ''): oas31.OpenAPIObject {
  const root = publicUrl.replace(/\/+$/, '')
  const document = createDocument(
    {
      openapi: '3.1.1',
      info: {
        title: 'Tillbook: API de integração',
        version: VERSION,
        description: INTRODUCTION,
        contact: { name: 'Tillbook', url: `${root}/docs` },
      },
      servers: [{ url: `${root}/api/v1` }],
      tags: [...new Set(routes.map(({ path }) => tagRoute(path)))].map((tag) => ({ ...tag })),
      paths: pathsOf(routes),
      components: {
        schemas: {
          ...(routes.some(({ path }) => path.endsWith('/forget')) && { ForgottenRecord }),
          ...(routes.some(({ path }) => path === '/tills') && { TillGap }),
        },
        securitySchemes: {
          apiKey: {
            type: 'http',
            scheme: 'bearer',
            description: 'A chave de API da empresa (`tb_live_…`), com os escopos marcados na criação. Nunca na URL.',
          },
        },
      },
    },
    { override: leaveAnswersOpen },
  )
  document.webhooks = webhooksOf(document.components?.schemas as Record<string, oas31.SchemaObject>)
  describeFields(document)
  return finish(document, API_LISTS)
}

/** A document for generators of clients, with the codes of its errors. */
export function finish(document: oas31.OpenAPIObject, lists: ValueLists): oas31.OpenAPIObject {
  const fitted = fitSchemas(document)
  nameBodies(fitted)
  allowEmptyTexts(fitted)
  nameLists(fitted, lists)
  assertNamed(fitted)
  listCodes(fitted)
  return fitted
}

function pathsOf(routes: readonly Route[]): ZodOpenApiPathsObject {
  const paths: ZodOpenApiPathsObject = {}
  for (const route of routes) {
    const path = toPathTemplate(route.path)
    paths[path] = { ...paths[path], [route.method]: describeRoute(route) }
  }
  return paths
}

/** Answers may gain fields within v1, so clients must accept unknown ones. Requests are as strict as the service. */
export function leaveAnswersOpen({ jsonSchema, io }: ZodOpenApiOverrideContext): void {
  if (io === 'output' && jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties
}

type Glossary = Readonly<Record<string, string>>

interface Describable {
  description?: string
}

/** Glossary text of a field, by its name and those of its parents; the longest match wins. */
function meaningOf(trail: readonly string[], glossary: Glossary): string | undefined {
  for (let start = 0; start < trail.length; start++) {
    const text = glossary[trail.slice(start).join('.')]
    if (text) return text
  }
  return undefined
}

function explain(target: Describable, trail: readonly string[], glossary: Glossary): void {
  const text = meaningOf(trail, glossary)
  if (text) target.description ??= text
}

/** Adds the glossary text to every field and parameter without a description. */
export function describeFields({ paths, components }: oas31.OpenAPIObject, glossary: Glossary = GLOSSARY): void {
  visit(paths, [], glossary)
  for (const [name, schema] of Object.entries(components?.schemas ?? {})) visit(schema, [name], glossary)
  visit(components?.responses, [], glossary)
}

function visit(node: unknown, trail: readonly string[], glossary: Glossary): void {
  if (typeof node !== 'object' || node === null) return
  if ('in' in node && 'name' in node) explain(node as Describable, [String(node.in), String(node.name)], glossary)
  for (const [member, value] of Object.entries(node)) {
    if (member === 'example' || member === 'examples') continue
    if (member === 'properties') visitFields(value, trail, glossary)
    else visit(value, trail, glossary)
  }
}

function visitFields(fields: Record<string, Describable>, trail: readonly string[], glossary: Glossary): void {
  for (const [name, field] of Object.entries(fields)) {
    explain(field, [...trail, name], glossary)
    visit(field, [...trail, name], glossary)
  }
}

/** `/openapi.json` of API v1. */
export const serveContract = (
  routes: readonly Route[],
  publicUrl: string,
  limitAnonymous: LimitUnauthenticated,
  compress: Compress,
): RequestHandler => serveDocument(() => createContract(routes, publicUrl), limitAnonymous, compress)
