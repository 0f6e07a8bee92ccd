import type { RequestHandler } from 'express'
import * as z from 'zod'
import {
  createDocument,
  type oas31,
  type ZodOpenApiOperationObject,
  type ZodOpenApiPathsObject,
  type ZodOpenApiResponseObject,
} from 'zod-openapi'
import type { AddressLimit } from '#access/login-limits.ts'
import { describeFields, finish, leaveAnswersOpen, serveDocument } from '#api/contract/contract-document.ts'
import { ERROR_COMPONENTS, refusalResponse } from '#api/contract/contract-errors.ts'
import type { ValueLists } from '#api/contract/contract-operation.ts'
import type { ReferencePage } from '#api/docs/docs-guides.tsx'
import { fromCents } from '#domain/money.ts'
import { ORDER_STATUSES } from '#domain/order-states.ts'
import {
  getLimit,
  may,
  PERMISSIONS,
  type Permission,
  ROLE_NAMES,
  ROLE_PRESETS,
  ROLES,
  type RolePermissions,
} from '#domain/rights.ts'
import { Id } from '#domain/text.ts'
import type { Compress } from '#http/answers.ts'
import { forbidCaching, limitUnauthenticatedBy, requireHttps } from '#http/edge.ts'
import { type ProblemCode, toHttpStatus } from '#http/problems.ts'
import { groupBy } from '#lib/collections.ts'
import { changesRecords, mayOpen, permissionsFor } from '#panel/page-context.ts'
import type { PanelRoute } from '#panel/panel-route.ts'
import { limitText, PERMISSION_NAMES } from '#panel/words/message-words.ts'
import { PaymentNotification } from '#public/payment-notifications.ts'
import { RULES, type Rule } from '#queries/tables.ts'
import { Alias } from '#records/company-settings.ts'
import { type FailureCode, failureMessage, failureStatus, type SyncOperation } from '#till-sync/till-answers.ts'
import { listFailures, SYNC_OPERATIONS, SYNC_VERSION } from '#till-sync/till-operations.ts'
import { TILL_GLOSSARY } from './till-glossary.ts'

const HEADER = `# Perfis de acesso e permissões

O que cada perfil pode, se a empresa não ajustou o perfil. Só \`owner\` não se ajusta. Chaves de API têm escopos em vez de perfis.
`

const HEADS = `${ROLES.map((role) => ` ${ROLE_NAMES[role]} |`).join('')}\n|---|---|${ROLES.map(() => '---|').join('')}\n`

function grantText(role: RolePermissions, permission: Permission): string {
  if (!may(role, permission)) return ''
  const limit = getLimit(role, permission)
  return limit === null ? 'sim' : limitText(limit)
}

const presetsOf = (textOf: (role: RolePermissions) => string): string =>
  ROLES.map((role) => ` ${textOf(ROLE_PRESETS[role])} |`).join('')

const needOf = (route: PanelRoute): string => {
  const codes = permissionsFor(route).map((permission) => `\`${permission}\``)
  return codes.join(', ') || (changesRecords(route) ? 'perfil que altera dados' : '')
}

const nameOf = (route: PanelRoute): string => `${'submit' in route ? 'POST' : 'GET'} ${route.path}`

/** Permissions by preset, routes of the panel by preset, and what of each table a role sees. */
export function permissionReference(routes: readonly PanelRoute[]): ReferencePage[] {
  const permissions = PERMISSIONS.map(
    (code) => `| \`${code}\`: ${PERMISSION_NAMES[code]} |${presetsOf((role) => grantText(role, code))}\n`,
  )
  const lines = routes.map(
    (route) =>
      `| \`${nameOf(route)}\` | ${needOf(route)} |${presetsOf((role) => (mayOpen(role, route) ? 'sim' : ''))}\n`,
  )
  const presets = `${HEADER}
## Permissões por perfil

| Permissão |${HEADS.replace('|---|---|', '|---|')}${permissions.join('')}
## Dados por perfil

Sem a permissão, o membro de um documento é \`(retido)\` e outra coluna fica vazia. Custos são nulos sem \`see_costs\`.
O conteúdo de eventos e mensagens só aparece a quem vê dados pessoais, custos, contas a pagar e todas as vendas.

${tablesSeen()}
[Páginas do painel por perfil](/docs/permissoes/paginas)
`
  const pages = `# Páginas do painel por perfil

Abaixo de \`/painel\`. Um registro que o perfil não vê é 404.

| Página | Exige |${HEADS}${lines.sort().join('')}`
  return [
    { path: '/docs/permissoes', lang: 'pt-BR', text: () => presets },
    { path: '/docs/permissoes/paginas', lang: 'pt-BR', text: () => pages },
  ]
}

/** Columns that a rule masks, and members of those that it does not hide whole. */
const maskedColumns = (masked: Rule['persons']): string[] =>
  Object.keys(masked?.columns ?? {}).flatMap(
    (column) => masked?.members?.[column]?.map((member) => `${column}.${member}`) ?? column,
  )

const rowsOf = ({ own, ownRollup }: Rule): 'all' | 'own' | 'own sums' | 'none' => {
  if (ownRollup) return 'own sums'
  return typeof own === 'string' ? own : 'own'
}

const ROWS = { all: '', own: 'as próprias linhas', 'own sums': 'somas das próprias vendas', none: 'nada' } as const

const restricted = (): [name: string, rule: Rule][] =>
  Object.entries<Rule>(RULES).filter(([, { own, ...masks }]) => own !== 'all' || Object.keys(masks).length > 0)

function tablesSeen(): string {
  const listed = (masked: Rule['persons']) =>
    maskedColumns(masked)
      .map((name) => `\`${name}\``)
      .join(', ')
  const rows = restricted().map(
    ([name, rule]) =>
      `| \`${name}\` | ${ROWS[rowsOf(rule)]} | ${listed(rule.persons)} | ${listed(rule.contents)} | ${rule.isPayable ? 'nada' : ''} |\n`,
  )
  const heads = ['Tabela', 'Sem `see_all_sales`', 'Sem dados pessoais', 'Conteúdo', 'Sem `see_payables`']
  return `| ${heads.join(' | ')} |\n|${heads.map(() => '---|').join('')}\n${rows.join('')}`
}

/** One line for each permission, route and masked table; a change of rights shows as a change of these lines. */
export function shapesOfPermissions(routes: readonly PanelRoute[]): string[] {
  const grantOf = (role: RolePermissions, code: Permission) => {
    const limit = getLimit(role, code)
    return may(role, code) ? [`${role.role}${limit === null ? '' : `<=${fromCents(limit)}`}`] : []
  }
  return [
    ...PERMISSIONS.map((code) => `permission ${code} ${ROLES.flatMap((role) => grantOf(ROLE_PRESETS[role], code))}`),
    ...routes
      .map((route) => `route ${nameOf(route)} ${permissionsFor(route)}${changesRecords(route) ? ' changes' : ''}`)
      .sort(),
    ...restricted().map(
      ([name, rule]) =>
        `table ${name} ${rowsOf(rule)} persons:${maskedColumns(rule.persons)} contents:${maskedColumns(rule.contents)}${rule.isPayable ? ' payable' : ''}`,
    ),
  ]
}

/** What the receiver answers besides 200. */
const RECEIVER_CODES = [
  'malformed_json',
  'invalid_notification',
  'invalid_signature',
  'not_found',
  'request_timeout',
  'payload_too_large',
  'unsupported_media_type',
  'rate_limited',
  'internal_error',
  'provider_configuration_invalid',
  'unavailable',
] as const satisfies readonly ProblemCode[]

const JSON_TYPE = 'application/json'

const NotificationAnswer = z
  .object({
    processed: z.boolean(),
    order_id: z.int().positive(),
    /** `ignored`: of the provider's older format. */
    status: z.enum([...ORDER_STATUSES, 'ignored']),
    message: z.string(),
  })
  .meta({
    id: 'NotificationAnswer',
    examples: [{ processed: true, order_id: 42, status: 'paid', message: 'Notificação processada.' }],
  })

const example = {
  id: 12345,
  live_mode: false,
  type: 'payment',
  date_created: '2026-11-21T11:17:15.000Z',
  user_id: '44444',
  api_version: 'v1',
  action: 'payment.updated',
  data: { id: '999999999' },
}

/** Path of the receiver in a contract, below the root of the service. */
const RECEIVER_PATH = '/webhook/paymentprovider/{store_alias}/{order_id}'

/** Contract of the receiver of payment notifications; `headersOf` gives the headers of an answer. */
const receiverOperation = (tag: string, headersOf: (status: number) => z.ZodObject): ZodOpenApiOperationObject => ({
  operationId: 'receivePaymentNotification',
  tags: [tag],
  summary: 'Recebe uma notificação do provedor de pagamentos',
  description:
    'Chamada pelo provedor, não por integradores. Só o id do pagamento é usado: o pagamento é consultado no provedor. Notificações de outro tipo, ou de outro modo (`live_mode`), recebem 200 com `processed: false`; as do formato antigo (IPN) também, com `status` `ignored`. Lojas com segredo exigem `x-signature`.',
  security: [],
  requestParams: {
    path: z.object({ store_alias: Alias, order_id: Id }),
    query: z.object({
      topic: z.string().optional().describe('Só no formato antigo do provedor (IPN), que não é processado.'),
      id: z.string().optional().describe('Só no formato antigo do provedor (IPN).'),
      type: z.string().optional().describe('Do provedor; sem corpo, é do formato antigo (IPN).'),
      'data.id': z.string().optional().describe('Do provedor; sem corpo, é do formato antigo (IPN).'),
    }),
    header: z.object({ 'x-signature': z.string().optional().describe('`ts=…,v1=…`, a assinatura do provedor.') }),
  },
  requestBody: {
    // Absent in the provider's older format.
    required: false,
    content: { [JSON_TYPE]: { schema: PaymentNotification.meta({ id: 'Notification' }), example } },
  },
  responses: {
    200: {
      description: 'Recebida.',
      headers: headersOf(200),
      content: { [JSON_TYPE]: { schema: NotificationAnswer } },
    },
    ...Object.fromEntries(
      [...groupBy(RECEIVER_CODES, toHttpStatus)].map(([status, codes]) => [
        status,
        refusalResponse(codes, headersOf(status)),
      ]),
    ),
  },
})

/** Lists of values of the tills' contract. */
const TILL_LISTS: ValueLists = {
  names: {
    CardBrand: 'OfflineCard.brand',
    CashMovementKind: 'CashMovement.kind',
    ConflictReason: 'Conflict.reason',
    NotificationStatus: 'NotificationAnswer.status',
    OfflinePaymentStatus: 'OfflinePayment.status',
    OfflineSaleStatus: 'OfflineSale.status',
    PaymentKind: 'TillPaymentType.kind',
    RetentionNeedKind: 'RetentionNeed.kind',
    DraftResultStatus: 'ItemResult.status',
    ResultStatus: 'CashResult.status',
    ReturnResultStatus: 'ReturnResult.status',
    SaleResultStatus: 'SaleResult.status',
    TillRole: 'TillConfigUser.role',
  },
  growing: [
    'CashWarning.code',
    'CustomerWarning.code',
    'ErrorDetails.missing_scope',
    'ItemWarning.code',
    'ReturnWarning.code',
    'SaleWarning.code',
  ],
}

const INTRODUCTION = `\
A sincronização dos caixas (\`/api/auth\` e \`/api/sync\`) e o receptor de notificações de pagamento (\`/webhook\`). A API de integração é outro contrato, em \`/api/v1/openapi.json\`.

**Caixas.** O login devolve um token, que vai em \`Authorization: Bearer <token>\` nas outras chamadas, nunca na URL. Dinheiro e quantidades são números JSON, exatos (\`18.90\`). Datas são ISO 8601 em UTC, com milissegundos; as enviadas podem ter outro fuso, mas precisam de um. Campos e parâmetros desconhecidos são ignorados.

**Erros dos caixas.** \`{"success": false, "message", "errors"?}\`: decida pelo status, mostre a \`message\`. Um 429 ou 503 traz \`Retry-After\`, em segundos. Toda chamada pode ser repetida: nada vale duas vezes.

**Notificações.** O receptor é chamado pelo provedor de pagamentos, na URL que cada pagamento leva. Os erros têm a forma da API de integração.`

const TAGS = {
  till: {
    name: 'Caixas',
    description: 'Login, download, envio de vendas e conflitos de caixas que também vendem sem conexão.',
  },
  receiver: {
    name: 'Notificações de pagamento',
    description: 'O que o provedor de pagamentos envia sobre pedidos da loja online.',
  },
}

const Failure = z
  .object({
    success: z.literal(false),
    message: z.string(),
    errors: z.record(z.string(), z.array(z.string())).optional(),
    data: z
      .object({
        companies: z.array(z.object({ id: z.int().positive(), name: z.string() }).meta({ id: 'CompanyChoice' })),
      })
      .meta({ id: 'CompanyChoices' })
      .optional()
      .describe('Só no login, quando falta escolher a empresa.'),
  })
  .meta({ id: 'Failure' })

/** A header as a component, defined once per document. */
const header = <T extends z.ZodType>(id: string, description: string, schema: T): T =>
  schema.meta({ header: { id, description } })

const requestId = header('X-Request-Id', 'Identifica a chamada: informe-o ao suporte.', z.uuid())
const retryAfter = header('Retry-After', 'Segundos a esperar antes de repetir a chamada.', z.int().min(1))
const challenge = header('WWW-Authenticate', 'Sempre `Bearer`.', z.literal('Bearer'))

const headersOf = (status: number): z.ZodObject =>
  z.object({
    'X-Request-Id': requestId,
    ...(status === 429 || status === 503 ? { 'Retry-After': retryAfter } : {}),
  })

const tillHeadersOf = (status: number): z.ZodObject =>
  status === 401 ? headersOf(status).extend({ 'WWW-Authenticate': challenge }) : headersOf(status)

/** OpenAPI 3.1 document of the sync interface and of the receiver of payment notifications. */
export function createTillContract(publicUrl = ''): oas31.OpenAPIObject {
  const operations: readonly SyncOperation[] = Object.values(SYNC_OPERATIONS)
  const root = publicUrl.replace(/\/+$/, '')
  const document = createDocument(
    {
      openapi: '3.1.1',
      info: {
        title: 'Tillbook: caixas e notificações de pagamento',
        version: `${SYNC_VERSION}.0`,
        description: INTRODUCTION,
        contact: { name: 'Tillbook', url: `${root}/docs` },
      },
      servers: [{ url: root || '/' }],
      tags: Object.values(TAGS).map((tag) => ({ ...tag })),
      paths: {
        ...pathsOf(operations),
        [RECEIVER_PATH]: { post: receiverOperation(TAGS.receiver.name, headersOf) },
      },
      components: {
        securitySchemes: {
          tillToken: {
            type: 'http',
            scheme: 'bearer',
            description: 'O token de `POST /api/auth/login`. Nunca na URL.',
          },
        },
      },
    },
    { override: leaveAnswersOpen },
  )
  const schemas = Object.entries(document.components?.schemas ?? {})
  const errors = Object.fromEntries(schemas.filter(([name]) => ERROR_COMPONENTS.includes(name)))
  describeFields({ ...document, paths: {}, components: { schemas: errors } })
  describeFields(document, TILL_GLOSSARY)
  return finish(document, TILL_LISTS)
}

const pathsOf = (operations: readonly SyncOperation[]): ZodOpenApiPathsObject =>
  Object.fromEntries(
    [...groupBy(operations, ({ path }) => path)].map(([path, ofPath]) => [
      `/api${path}`,
      Object.fromEntries(ofPath.map((route) => [route.method, operationOf(route)])),
    ]),
  )

function operationOf(route: SyncOperation): ZodOpenApiOperationObject {
  const { operation, summary, description, isOpen, query, body, example, reply } = route
  const content = body && { [JSON_TYPE]: { schema: body, ...(example && { example }) } }
  return {
    operationId: operation,
    tags: [TAGS.till.name],
    summary,
    ...(description && { description }),
    security: isOpen ? [] : [{ tillToken: [] }],
    ...(query && { requestParams: { query } }),
    ...(content && { requestBody: { required: true, content } }),
    responses: {
      200: { description: 'Sucesso.', headers: tillHeadersOf(200), content: { [JSON_TYPE]: { schema: reply } } },
      ...Object.fromEntries(
        [...groupBy(listFailures(route), failureStatus)].map(([status, codes]) => [
          status,
          failureResponse(status, codes),
        ]),
      ),
    },
  }
}

const responses = new Map<string, ZodOpenApiResponseObject>()

/** One component per status and set of failures; `examples` has each by its code, which answers do not show. */
function failureResponse(status: number, codes: readonly FailureCode[]): ZodOpenApiResponseObject {
  const id = `Failure${status}_${codes.join('_or_')}`
  const known = responses.get(id)
  if (known) return known
  const examples = codes.map((code) => [code, { value: { success: false, message: failureMessage(code) } }])
  const response: ZodOpenApiResponseObject = {
    id,
    description: codes.map(failureMessage).join('\n'),
    headers: tillHeadersOf(status),
    content: { [JSON_TYPE]: { schema: Failure, examples: Object.fromEntries(examples) } },
  }
  responses.set(id, response)
  return response
}

interface TillContractOptions {
  readonly addresses: AddressLimit
  readonly compress: Compress
  readonly publicUrl: string
}

/** `/api/openapi.json`, under the same rule for plain HTTP as the interface. */
export function serveTillContract({ addresses, compress, publicUrl }: TillContractOptions): RequestHandler[] {
  const limitAnonymous = limitUnauthenticatedBy(addresses)
  return [
    forbidCaching,
    requireHttps(limitAnonymous),
    serveDocument(() => createTillContract(publicUrl), limitAnonymous, compress),
  ]
}
