import * as z from 'zod'
import type { oas31, ZodOpenApiOperationObject, ZodOpenApiResponseObject, ZodOpenApiResponsesObject } from 'zod-openapi'
import { boundedText, ExternalId, Id, limitedText } from '#domain/text.ts'
import type { ProblemCode } from '#http/problems.ts'
import { type BatchRoute, demandsKey, hasAddress, MIN_REVISION, type Route } from '../api-route.ts'
import { batchSchema } from '../batch.ts'
import { DRY_RUN } from '../request.ts'
import { codesByStatus, refusalResponse, takesBody } from './contract-errors.ts'
import { componentsOfRequests, REF, VALUES } from './generators.ts'

type Schema = oas31.SchemaObject & { readonly 'x-extensible-enum'?: readonly unknown[] }

/**
 * Lists of values of a document by a place where each stands: a field (`Sale.status`) or a parameter
 * (`listSales?fiscal`). Lists with the same values are one list.
 */
export interface ValueLists {
  /** Name of each list: the component that generators make a type of. */
  readonly names: Readonly<Record<string, string>>
  /** Lists that grow within a version (docs/versioning.md): open texts in answers. */
  readonly growing: readonly string[]
}

export const API_LISTS: ValueLists = {
  names: {
    AccountOrigin: 'Receivable.origin',
    AccountPaymentKind: 'AccountPayment.kind',
    AccountStatus: 'Receivable.status',
    AccountStatusFilter: 'listReceivables?status',
    AlarmFilter: 'listOrders?alarm',
    BusinessType: 'TestCompany.business_type',
    CardBrand: 'SaleCard.brand',
    CashSessionStatus: 'CashSession.status',
    CountMode: 'InventoryCountsInput.mode',
    CreditMovementKind: 'CreditMovement.kind',
    DeliveryEvent: 'listWebhookDeliveries?event',
    DeliveryStatus: 'WebhookDelivery.status',
    DisputeStatus: 'Dispute.status',
    EventOrigin: 'LedgerEvent.origin',
    FiscalDocumentStatus: 'FiscalDocument.status',
    FiscalFilter: 'listSales?fiscal',
    ForgettingGround: 'ForgetInput.ground',
    HttpMethod: 'listRequests?method',
    IeIndicator: 'Customer.ie_indicator',
    InventoryStatus: 'Inventory.status',
    ItemType: 'CatalogItem.type',
    NotificationOutcome: 'Notification.outcome',
    OnlineMethod: 'OrderPayment.method',
    OrderDeliveryFilter: 'listOrders?delivery_state',
    OrderDeliveryMethod: 'OrderDelivery.method',
    OrderDeliveryState: 'Order.delivery_state',
    OrderStatus: 'Order.status',
    Origin: 'Sale.origin',
    PauseReason: 'Webhook.pause_reason',
    PaymentKind: 'PaymentType.kind',
    PaymentTypeInputKind: 'PaymentTypeInput.kind',
    PersonType: 'Customer.person_type',
    Plan: 'Me.plan',
    PriceChangeStatus: 'PriceChange.status',
    PriceRuleKind: 'PriceRule.kind',
    RecordedMovementKind: 'StockMovementInput.kind',
    RefundStatus: 'Refund.status',
    ReplayStatus: 'WebhookReplay.status',
    RetentionNeedKind: 'RetentionNeed.kind',
    SaleStatus: 'Sale.status',
    State: 'AddressInput.state',
    StockMovementKind: 'StockMovement.kind',
    TaxRegime: 'MeCompany.tax_regime',
    WebhookStatus: 'Webhook.status',
    WebhookSubscription: 'RegisterWebhookInput.events',
  },
  growing: [
    'CashSession.reason',
    'ErrorDetails.missing_scope',
    'EventNotice.event',
    'MeKey.scopes',
    'OrderAlarm.code',
    'PaymentMethod.code',
    'ReturnWarning.code',
    'SaleWarning.code',
    'Warning.code',
    'Webhook.events',
    'WebhookDelivery.event',
  ],
}

/**
 * Makes each list of values a component, because generators name the types of others by their position. In answers, a
 * list that grows becomes an open text with its known values.
 */
export function nameLists(document: oas31.OpenAPIObject, { names, growing }: ValueLists): void {
  const schemas = { ...document.components?.schemas } as Record<string, Schema>
  const byKey = new Map(Object.entries(names).map(([name, place]) => [keyAt(document, place), name]))
  const open = new Set(growing.map((place) => keyAt(document, place)))
  const ofRequests = componentsOfRequests(document)

  const named = ({ enum: values = [], type: _, ...rest }: Schema, place: string, isRequest: boolean): Schema => {
    const key = keyOf(values)
    if (!isRequest && open.has(key)) return { ...rest, type: 'string', 'x-extensible-enum': values }
    const name = byKey.get(key)
    if (name === undefined) throw new Error(`contract: the list of values in ${place} has no name (contract/lists.ts)`)
    const component = values.includes('') ? `${name}Input` : name
    schemas[component] = { type: 'string', enum: values }
    return { ...rest, $ref: `${REF}${component}` }
  }
  const visit = <T>(node: T, place: string, isRequest: boolean): T => {
    if (Array.isArray(node)) return node.map((each) => visit(each, place, isRequest)) as T
    if (typeof node !== 'object' || node === null) return node
    if ('enum' in node && Array.isArray(node.enum)) return named(node as Schema, place, isRequest) as T
    const inner = ([member, value]: [string, unknown]) =>
      VALUES.has(member)
        ? [member, value]
        : [member, visit(value, `${place}.${member}`, isRequest || member === 'parameters')]
    return Object.fromEntries(Object.entries(node).map(inner)) as T
  }
  for (const [name, schema] of Object.entries(schemas)) schemas[name] = visit(schema, name, ofRequests.has(name))
  document.paths = visit(document.paths, 'paths', false) as NonNullable<oas31.OpenAPIObject['paths']>
  document.components = { ...document.components, schemas }
}

/** The values of a list in any order, with or without the empty text that clears a field. */
const keyOf = (values: readonly unknown[]): string => JSON.stringify(values.filter((value) => value !== '').sort())

/** Key of the values at `Component.field` or `operation?parameter`; null in a document of other operations. */
function keyAt({ paths, components }: oas31.OpenAPIObject, place: string): string | null {
  const [owner = '', member = ''] = place.split(/[.?]/)
  const operations = Object.values(paths ?? {}).flatMap((item) => Object.values(item as Record<string, Operation>))
  const { parameters = [] } = operations.find(({ operationId }) => operationId === owner) ?? {}
  const schema = place.includes('?')
    ? parameters.find(({ name }) => name === member)?.schema
    : (components?.schemas?.[owner] as Schema | undefined)?.properties?.[member]
  const values = valuesOf(schema as Schema | undefined)
  return values ? keyOf(values) : null
}

interface Operation {
  readonly operationId?: string
  readonly parameters?: readonly oas31.ParameterObject[]
}

function valuesOf(schema: Schema | undefined): readonly unknown[] | undefined {
  if (schema?.enum !== undefined) return schema.enum
  const inner = [schema?.items, ...(schema?.oneOf ?? [])] as (Schema | undefined)[]
  return inner.find((each) => each?.enum !== undefined)?.enum
}

/** A group of operations in the documentation. */
interface Tag {
  readonly name: string
  readonly description: string
}

/** Keys are first path segments; two where a resource below the first has a page of its own. */
const TAGS: Readonly<Record<string, Tag>> = {
  me: { name: 'Conta', description: 'A empresa, a chave e os limites de quem chama.' },
  test: { name: 'Testes', description: 'O relógio e os dados de uma empresa de teste.' },
  catalog: { name: 'Catálogo', description: 'Produtos e serviços.' },
  'catalog/categories': { name: 'Categorias', description: 'Grupos de produtos e serviços.' },
  stock: { name: 'Estoque', description: 'Entradas, saídas, inventários e perdas.' },
  customers: { name: 'Clientes', description: 'Pessoas e empresas que compram.' },
  suppliers: { name: 'Fornecedores', description: 'Pessoas e empresas de quem se compra.' },
  'finance/receivables': { name: 'Contas a receber', description: 'O que clientes devem, e o que pagaram.' },
  'finance/payables': { name: 'Contas a pagar', description: 'O que a empresa deve, e o que pagou.' },
  finance: { name: 'Financeiro', description: 'Formas de pagamento e o resumo do período.' },
  webhooks: { name: 'Webhooks', description: 'Endereços que recebem os eventos, e o que lhes foi entregue.' },
  events: { name: 'Auditoria', description: 'O livro da empresa, evento por evento, e a sua conferência.' },
  requests: { name: 'Chamadas', description: 'O que a empresa pediu a esta API nos últimos 7 dias.' },
  sales: { name: 'Vendas', description: 'Vendas já pagas: registrar, consultar e cancelar.' },
  'cash-sessions': {
    name: 'Sessões de caixa',
    description: 'Sessões de caixa: o que cada gaveta devia ter, e o que foi contado.',
  },
  tills: {
    name: 'Caixas registrados',
    description: 'Os caixas que numeram e assinam o que registram, e o que falta deles.',
  },
  returns: { name: 'Devoluções', description: 'Mercadoria de vendas que voltou, e o que foi devolvido por ela.' },
  stores: { name: 'Lojas', description: 'As lojas online da empresa.' },
  orders: { name: 'Pedidos', description: 'Pedidos da loja online e o seu pagamento.' },
}

/** Tag of a route pattern. */
export function tagRoute(path: string): Tag {
  const [, first = '', second] = path.split('/')
  const tag = TAGS[`${first}/${second}`] ?? TAGS[first]
  if (!tag) throw new Error(`contract: path ${path} has no tag; add one to TAGS`)
  return tag
}

/** A header as a component, defined once per document. */
const header = <T extends z.ZodType>(name: string, description: string, schema: T): T =>
  schema.meta({ header: { id: name, description } })

const requestId = header('X-Request-Id', 'Identifica a chamada; nos erros é igual a `error.request_id`.', z.uuid())

const rate = {
  'X-RateLimit-Limit': header('X-RateLimit-Limit', 'Limite da janela mais próxima de se esgotar.', z.int().min(1)),
  'X-RateLimit-Remaining': header('X-RateLimit-Remaining', 'Chamadas que restam nessa janela.', z.int().min(0)),
  'X-RateLimit-Bytes-Limit': header(
    'X-RateLimit-Bytes-Limit',
    'Bytes que a empresa pode enviar por dia em corpos de requisições, somados chaves e caixas; só com uma chave válida.',
    z.int().min(0).optional(),
  ),
  'X-RateLimit-Bytes-Remaining': header(
    'X-RateLimit-Bytes-Remaining',
    'Bytes que restam nesse dia.',
    z.int().min(0).optional(),
  ),
  'X-RateLimit-Reset': header('X-RateLimit-Reset', 'Fim dessa janela, em segundos Unix.', z.int().min(0)),
}

const revision = header(
  'X-Ledger-Revision',
  'Revisão do livro da empresa que a resposta mostra: cresce a cada alteração.',
  z.int().min(0),
)

const replayed = header(
  'Idempotent-Replayed',
  'Presente quando a resposta é a que foi guardada sob a mesma Idempotency-Key.',
  z.literal('true').optional(),
)

const location = header('Location', 'Endereço do registro criado.', z.string())

const etag = header('ETag', 'Identifica o conteúdo da resposta, para `If-None-Match`.', z.string())

const retryAfter = header('Retry-After', 'Segundos a esperar antes de repetir a chamada.', z.int().min(1))

const challenge = header('WWW-Authenticate', 'Sempre `Bearer`.', z.literal('Bearer'))

/** Headers of a success. A write may be a replay; a GET has an ETag. */
const successHeaders = (route: Pick<Route, 'method' | 'path'>, status?: number) =>
  z.object({
    'X-Request-Id': requestId,
    ...rate,
    'X-Ledger-Revision': revision,
    ...(route.method === 'get' ? {} : { 'Idempotent-Replayed': replayed }),
    ...((route.method === 'get' && !('send' in route)) || (hasTarget(route) && status !== 204) ? { ETag: etag } : {}),
    ...(status === 201 && hasAddress(route) ? { Location: location } : {}),
  })

/** Headers of an error. */
const errorHeaders = (status: number) =>
  z.object({
    'X-Request-Id': requestId,
    ...rate,
    ...(status === 429 || status === 503 ? { 'Retry-After': retryAfter } : {}),
    ...(status === 401 ? { 'WWW-Authenticate': challenge } : {}),
  })

type ObjectSchema = z.ZodType<unknown, Record<string, unknown>>

const JSON_TYPE = 'application/json'

/** Contract of a route. */
export function describeRoute(route: Route): ZodOpenApiOperationObject {
  return {
    operationId: route.operation,
    tags: [tagRoute(route.path).name],
    summary: route.summary,
    description: [route.description, scopeText(route)].filter(Boolean).join('\n\n'),
    'x-required-scope': route.scope,
    security: [{ apiKey: scopesOf(route) }],
    requestParams: parametersOf(route),
    ...(takesBody(route) ? { requestBody: bodyOf(route) } : {}),
    responses: { ...successesOf(route), ...errorsOf(route) },
  }
}

const scopesOf = ({ scope, alsoScope }: Route): string[] => [scope ?? [], alsoScope ?? []].flat()

function scopeText(route: Route): string {
  const names = scopesOf(route).map((scope) => `\`${scope}\``)
  if (names.length === 0) return 'Qualquer chave pode chamar.'
  return names.length === 1 ? `Escopo necessário: ${names[0]}.` : `Escopos necessários: ${names.join(' e ')}.`
}

/** Schemas of path parameters. */
const PATH_PARAMETERS: Readonly<Record<string, z.ZodType>> = {
  id: Id,
  payment_id: Id,
  external_id: ExternalId,
  delivery_id: z.uuid(),
  request_id: z.uuid(),
  provider_payment_id: boundedText(100),
  revision: z.int().min(0),
}

/** Parameter names of a route pattern. */
const parameterNames = (path: string): string[] => [...path.matchAll(/:(\w+)/g)].map(([, name = '']) => name)

/** OpenAPI form of a route pattern: `/sales/{id}/cancel`. */
export const toPathTemplate = (path: string): string => path.replace(/:(\w+)/g, '{$1}')

const IdempotencyKey = limitedText(255)
  .regex(/^[\x20-\x7e]{1,255}$/)
  .meta({ minLength: 1, maxLength: 255, examples: ['6f1c2f0e-6f6c-4a44-9b0a-5d9d1c1f7a10'] })

const DryRun = z.boolean()

const READ_HEADERS = { 'If-None-Match': z.string().optional(), [MIN_REVISION]: z.int().min(0).optional() }

function parametersOf(route: Route) {
  const names = parameterNames(route.path)
  const path = Object.fromEntries(names.map((name) => [name, pathParameter(name, route)]))
  const key = demandsKey(route) ? IdempotencyKey : IdempotencyKey.optional()
  return {
    ...(names.length > 0 ? { path: z.object(path) } : {}),
    ...('query' in route && route.query ? { query: route.query as unknown as ObjectSchema } : {}),
    ...(route.method === 'get'
      ? {}
      : {
          header: z.object({
            'Idempotency-Key': key,
            [DRY_RUN]: DryRun.optional(),
            ...(hasTarget(route) ? { 'If-Match': IfMatch } : {}),
            ...(mayCreate(route) ? { 'If-None-Match': OnlyCreate } : {}),
          }),
        }),
    ...('read' in route ? { header: z.object(READ_HEADERS) } : {}),
    ...('send' in route ? { header: z.object({ 'Last-Event-ID': LastEventId.optional() }) } : {}),
  }
}

/** The ETag of a GET of the record, or `*`. */
const IfMatch = z.string().optional()

/** Of a PUT that replaces a record or creates it. */
const OnlyCreate = z.string().optional().meta({
  description: 'Com `*`, o registro só é criado: se já existe, a resposta é 412 `precondition_failed`.',
})

const mayCreate = (route: Route): boolean => 'target' in route && route.target?.byExternalId !== undefined

const hasTarget = (route: object): boolean => 'target' in route && route.target !== undefined

const LastEventId = z.int().min(0)

function pathParameter(name: string, { reply }: Route): z.ZodType {
  const schema = PATH_PARAMETERS[name]
  if (!schema) throw new Error(`contract: path parameter ${name} is unknown; add it to PATH_PARAMETERS`)
  const examples = name === 'external_id' && reply ? externalIdsIn(reply) : []
  return examples.length > 0 ? schema.meta({ examples }) : schema
}

/** External ids of the examples of a record. */
function externalIdsIn(reply: z.ZodType): unknown[] {
  const { data } = (reply as z.ZodObject).shape as { data?: z.ZodType }
  const examples = (data?.meta()?.examples ?? []) as { external_id?: unknown }[]
  return examples.flatMap(({ external_id: id }) => (typeof id === 'string' ? [id] : []))
}

function bodyOf(route: Route) {
  const example = 'example' in route && route.example ? { example: route.example } : {}
  return { required: true, content: { [JSON_TYPE]: { schema: bodySchema(route), ...example } } }
}

function bodySchema(route: Route): z.ZodType {
  if ('batch' in route) return batchSchema(route.item)
  return ('body' in route && route.body) || z.strictObject({})
}

const SUCCESSES: Readonly<Record<number, string>> = {
  200: 'Sucesso.',
  201: 'Criado.',
  202: 'Aceito: o que falta será feito no dia marcado.',
  204: 'Excluído; a resposta não tem corpo.',
  207: 'Parte dos itens foi recusada: `meta.errors` diz quais e por quê.',
}

/** Success statuses of a route, derived from its kind. */
function successStatuses(route: Route): number[] {
  if ('batch' in route) return [200, 207]
  if (route.reply === undefined) return [204]
  if (route.method === 'get' || 'operate' in route || route.method === 'patch') return [200]
  if ('status' in route && route.status) return [route.status].flat()
  return route.method === 'put' ? [200, 201] : [201]
}

/** One component for all reads. */
const unchanged: ZodOpenApiResponseObject = {
  id: 'Unchanged',
  description: 'Nada mudou desde a resposta com a `ETag` de `If-None-Match`; esta não tem corpo.',
  headers: successHeaders({ method: 'get', path: '' }),
}

/** Content type of a successful answer. */
const typeOf = (route: Route): string => ('send' in route ? 'text/event-stream' : JSON_TYPE)

function successesOf(route: Route): ZodOpenApiResponsesObject {
  const { reply } = route
  const response = (status: number): ZodOpenApiResponseObject => ({
    description: SUCCESSES[status] ?? '',
    ...(status === 207 && 'batch' in route && itemRefusalsOf(route)),
    headers: successHeaders(route, status),
    ...(reply && status !== 204 ? { content: { [typeOf(route)]: { schema: reply } } } : {}),
  })
  return {
    ...Object.fromEntries(successStatuses(route).map((status) => [status, response(status)])),
    ...('read' in route ? { 304: unchanged } : {}),
  }
}

/** The codes with which an item of a batch may fail. */
function itemRefusalsOf({ itemRefusals }: BatchRoute) {
  const codes = ['validation_failed', ...itemRefusals]
  return {
    description: `${SUCCESSES[207]} Códigos: ${codes.map((code) => `\`${code}\``).join(', ')}.`,
    'x-error-codes': codes,
  }
}

const errorsOf = (route: Route): ZodOpenApiResponsesObject =>
  Object.fromEntries(codesByStatus(route).map(([status, codes]) => [status, errorResponse(status, codes)]))

const responses = new Map<string, ZodOpenApiResponseObject>()

/** One component per status and set of codes, because most routes share them. */
function errorResponse(status: number, codes: readonly ProblemCode[]): ZodOpenApiResponseObject {
  const id = `Error${status}_${codes.join('_or_')}`
  const known = responses.get(id)
  if (known) return known
  const response = { id, ...refusalResponse(codes, errorHeaders(status)) }
  responses.set(id, response)
  return response
}
