import * as z from 'zod'
import type { PersonKind } from '#domain/personal-data.ts'
import { type RecordKind, Subject } from '#domain/record-kinds.ts'
import type { Scope } from '#domain/scopes.ts'
import { limitedText } from '#domain/text.ts'
import { EVENT_TYPES } from '#events/catalogue.ts'
import { WEBHOOK_EVENTS } from '#events/webhooks.ts'
import { pathId } from '#http/paths.ts'
import { QueryFlag } from '#http/query-values.ts'
import { GENESIS_HASH } from '#ledger/envelope.ts'
import { listEvents, listHistory, listOpenedEvents } from '#queries/events.ts'
import type { Caller } from '../authenticate.ts'
import { pageSchemaOf, singleOf } from '../contract/envelopes.ts'
import { NullableText } from '../contract/formats.ts'
import { type Route, readRoute, single } from '../route.ts'
import { TreeHash } from './proofs.ts'
import { answerPage, pageQuery, QueryRevision } from './record-routes.ts'

const Hash = limitedText(64).regex(/^[0-9a-f]{64}$/)

const eventExample = {
  id: '019aa5c2-6c1e-7c2f-9d11-3f0c9c6f2a10',
  type: 'CategoryCreated',
  version: 1,
  stream: 'company-1',
  revision: 1204,
  recorded_at: '2026-11-21T11:17:15.123Z',
  subject: 'category/31',
  origin: 'api',
  actor: 'api_key/4',
  request_id: '019aa5c2-6c1d-7a31-8a55-0f2f2b7c9d10',
  idempotency: {
    key: 'cat-31',
    request_hash: 'b5bb9d8014a0f9b1d61e21e796d78dccdf1352f23cd32812f4850b878ae4944c',
    status: 201,
  },
  previous_hash: '7d865e959b2466918c9863afca942d0fb89d7c9ac0c99bafc3749504ded97730',
  hash: '9c56cc51b374c3ba189210d5b6d4bf57790d351c96c47c02190ecf1e430635ab',
  data: { id: 31, external_id: 'CAT-1', name: 'Bebidas' },
}

const sealedExample = {
  ...eventExample,
  type: 'UserUpdated',
  subject: 'user/3',
  data: {
    id: 3,
    changes: {
      name: {
        sealed: 'AQGaxTfk1nv2n38zTz4fbFfXV0AfgTJnTLKqhc5HAHpMKj2_0J1cdXwA0xYVYNOjNLR1FEC4YAbB',
      },
    },
  },
}

/** An event in the form that was hashed (src/ledger/envelope.ts). */
export const LedgerEvent = z
  .strictObject({
    id: z.uuid(),
    type: z.string(),
    version: z.int().min(1),
    stream: z.string(),
    revision: z.int().min(0),
    recorded_at: z.iso.datetime({ precision: 3 }),
    subject: z.string(),
    origin: z.enum(['api', 'pdv', 'panel', 'system']),
    actor: NullableText,
    request_id: NullableText,
    idempotency: z
      .strictObject({ key: z.string(), request_hash: z.string(), status: z.int() })
      .meta({ id: 'LedgerIdempotency' })
      .nullable(),
    previous_hash: Hash,
    hash: Hash,
    data: z.record(z.string(), z.unknown()),
    opened: z.record(z.string(), z.unknown()).optional(),
    messages: z
      .array(z.strictObject({ event: z.enum(WEBHOOK_EVENTS), body: z.string() }).meta({ id: 'EventNotice' }))
      .optional(),
  })
  .meta({ id: 'LedgerEvent', examples: [eventExample, sealedExample] })

const verificationExample = {
  valid: true,
  checked: 1205,
  revision: 1204,
  hash: eventExample.hash,
  root: 'XcnaeacGWamtVZy3Ad7ZoqudgjqtL0lgz+Nw7/RgQyg=',
  first_error: null,
}

/** Result of a verification (src/integrity/audit/chain-walk.ts). */
const LedgerVerification = z
  .strictObject({
    valid: z.boolean(),
    checked: z.int().min(0),
    revision: z.int().min(-1),
    hash: Hash,
    root: TreeHash.nullable(),
    first_error: z
      .strictObject({ revision: z.int().min(0), reason: z.string() })
      .meta({ id: 'LedgerError' })
      .nullable(),
  })
  .meta({
    id: 'LedgerVerification',
    examples: [
      verificationExample,
      {
        valid: false,
        checked: 0,
        revision: -1,
        hash: GENESIS_HASH,
        root: null,
        first_error: { revision: 0, reason: 'wrong_hash' },
      },
    ],
  })

const scope = 'audit:read'

/** Scope that a key needs to see personal fields of each kind; no key may see those of users. */
const READERS: Readonly<Record<PersonKind, Scope | null>> = {
  customer: 'customers:read',
  supplier: 'suppliers:read',
  order: 'orders:read',
  user: null,
}

export const readerOf =
  ({ scopes }: Caller) =>
  (kind: string): boolean => {
    const needed = READERS[kind as PersonKind]
    return needed !== null && scopes.includes(needed)
  }

const isEventType = (name: string): boolean => Object.hasOwn(EVENT_TYPES, name)

/** Comma-separated names, in any order. */
export const EventTypeList = limitedText(2_000)
  .refine((text) => text.split(',').every(isEventType), 'há um tipo de evento desconhecido')
  .transform((text) => [...new Set(text.split(','))].sort())
  .meta({ examples: ['SaleCompleted,SaleCancelled'] })

const EventHash = limitedText(100).regex(
  /^[0-9a-f]{64}$/,
  'deve ser o hash de um evento: 64 dígitos hexadecimais minúsculos',
)

/** Position at which a verification continues: both or neither, because the chain needs a previous hash. */
const VerifyQuery = z
  .strictObject({ after: QueryRevision.optional(), hash: EventHash.optional() })
  .refine(({ after, hash }) => (after === undefined) === (hash === undefined), {
    path: ['hash'],
    message: 'after e hash são informados juntos',
  })

/** Kinds of records with an event history: path and names. */
const RECORDS: readonly (readonly [path: string, kind: RecordKind, name: string, one: string])[] = [
  ['/customers', 'customer', 'Customer', 'um cliente'],
  ['/suppliers', 'supplier', 'Supplier', 'um fornecedor'],
  ['/catalog/items', 'catalog_item', 'CatalogItem', 'um produto ou serviço'],
  ['/catalog/categories', 'category', 'Category', 'uma categoria'],
  ['/finance/receivables', 'receivable', 'Receivable', 'uma conta a receber'],
  ['/finance/payables', 'payable', 'Payable', 'uma conta a pagar'],
  ['/sales', 'sale', 'Sale', 'uma venda'],
  ['/orders', 'order', 'Order', 'um pedido'],
  ['/webhooks', 'webhook', 'Webhook', 'um endereço de webhook'],
]

const historyRoute = (path: string, kind: RecordKind, name: string, one: string): Route =>
  readRoute({
    path: `${path}/:id/history`,
    scope,
    operation: `get${name}History`,
    summary: `Lista os eventos de ${one}`,
    description:
      'Do mais antigo ao mais novo; também de um registro excluído. `data` vem na versão mais nova do tipo do evento; a que foi gravada, à qual pertence o `hash`, está em `GET /events`. Dados pessoais vêm abertos; `null`, quando foram excluídos ou a chave não lê esse tipo de cadastro.',
    query: pageQuery({}),
    reply: pageSchemaOf(LedgerEvent),
    fromReplica: true,
    async read({ reader, store, keys, caller, params, query }) {
      const id = pathId(params.id)
      if (id === null) return null
      const page = await listHistory({ reader, store, keys }, `${kind}/${id}`, query, readerOf(caller))
      if (!page) return null
      return answerPage(page, query.limit)
    },
  })

/** The ledger, and the history of each record, for auditors (FEED-1). */
export const eventRoutes: readonly Route[] = [
  ...RECORDS.map((record) => historyRoute(...record)),
  readRoute({
    path: '/events',
    scope,
    operation: 'listEvents',
    summary: 'Lista os eventos do livro da empresa',
    description:
      'Na ordem em que foram registrados, tal como foram encadeados por hash, até a revisão em X-Ledger-Revision. Com filtros, uma página pode vir curta, ou vazia, antes da última: o que conta é `has_more`. Dados pessoais estão selados: no lugar do valor há `{"sealed": "…"}`, e é sobre isso que o hash é calculado. Com `opened=true`, cada evento traz também `opened`, os mesmos dados com os campos pessoais abertos; `null`, quando foram excluídos ou a chave não lê esse tipo de cadastro.',
    query: pageQuery({
      after: QueryRevision.optional(),
      types: EventTypeList.optional(),
      subject: Subject.optional(),
      opened: QueryFlag,
    }),
    reply: pageSchemaOf(LedgerEvent),
    fromReplica: true,
    async read({ reader, store, keys, caller, query: { opened, ...query } }) {
      const page = opened
        ? await listOpenedEvents({ reader, store, keys }, query, readerOf(caller))
        : await listEvents({ reader, store }, query)
      return answerPage(page, query.limit)
    },
  }),
  readRoute({
    path: '/events/verify',
    scope,
    operation: 'verifyEvents',
    summary: 'Confere o livro da empresa',
    description:
      'Recalcula o hash de cada evento e segue o encadeamento. A conferência está completa quando `revision` alcança X-Ledger-Revision; um livro longo leva mais de uma chamada: continue com `after` e `hash` iguais a `revision` e `hash` da resposta. Enquanto uma corre, outra da mesma empresa recebe 503. Do primeiro evento em diante, o livro é conferido também contra o último checkpoint, e `root` é a raiz da sua árvore. O que um checkpoint guardado fora do serviço prova a mais está no guia do auditor.',
    query: VerifyQuery,
    reply: singleOf(LedgerVerification),
    async read({ verifier, caller, query: { after, hash } }) {
      const start = after === undefined || hash === undefined ? null : { revision: after, hash }
      const { verification, head, root } = await verifier.verify(caller.companyId, start)
      return { body: single(JSON.stringify({ ...verification, root })), revision: head }
    },
  }),
]
