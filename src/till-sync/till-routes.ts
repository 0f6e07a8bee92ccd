import express, { type RequestHandler, type Response, type Router } from 'express'
import {
  createOfflineCustomer,
  createOfflineItem,
  type DraftWarning,
  OfflineCustomerInput,
  OfflineItemInput,
} from '#commands/offline-sale-input.ts'
import { registerTill, TillInput } from '#commands/till-commands.ts'
import { type Refusal, refuseInvalid } from '#domain/refusals.ts'
import { type Outgoing, type StreamWrite, sendJson } from '#http/answers.ts'
import {
  type BodyBudget,
  type ChargeBytes,
  chargeOrRefuse,
  chargeRead,
  companyBodyBudget,
  declaredBytes,
  jsonBodyUpTo,
  limitLargeRequests,
  unauthenticatedBodyBudget,
} from '#http/bodies.ts'
import { limitUnauthenticatedBy, mountRoutes, problemHandler, requireHttps } from '#http/edge.ts'
import { Problem, parseInput } from '#http/problems.ts'
import { type Invocation, invoke, isRefusal } from '#ledger/command.ts'
import { parseSubject } from '#ledger/projection.ts'
import type { CommandResult } from '#ledger/write/idempotency.ts'
import { runList } from '#ledger/write/run.ts'
import { createTimeSlicer, type EncodedText } from '#lib/fair-sharing.ts'
import type { PoolOf } from '#postgres/pool.ts'
import { fullReader } from '#queries/reader.ts'
import { checkProducts, listCustomersForTill, listProductsForTill } from '#queries/till-downloads.ts'
import { findVoucher } from '#queries/voucher-queries.ts'
import { DEFAULT_ITEM_TYPE } from '#records/items.ts'
import type { Services } from '#services.ts'
import {
  answerSyncProblem,
  CustomerQuery,
  KnownProduct,
  ProductCheck,
  ProductQuery,
  parseEach,
  type SyncRoute,
  sendSuccess,
  UploadedCustomers,
  UploadedItems,
  VoucherQuery,
} from './till-answers.ts'
import { SYNC_OPERATIONS } from './till-operations.ts'
import { cashRoute, returnsRoute } from './till-records.ts'
import { authRoutes, configRoute, getTillSession, requireToken, requireTokenStill, statusRoute } from './till-router.ts'
import { admitEnded, toUploader } from './upload-access.ts'
import {
  type ElementResult,
  isNotRecorded,
  type RefusalTexts,
  readOfflineId,
  refusalText,
  runUpload,
  sendResults,
  type UploadServices,
  uploadRoute,
} from './uploads.ts'

/** Records that a till made: the member with the id, and its words. */
interface DraftKind {
  readonly id: 'item_id' | 'customer_id'
  readonly one: string
  readonly many: string
}

const ITEM: DraftKind = { id: 'item_id', one: 'produto', many: 'produtos' }
const CUSTOMER: DraftKind = { id: 'customer_id', one: 'cliente', many: 'clientes' }

const WARNINGS: Readonly<Record<DraftWarning, string>> = {
  barcode_in_use: 'Já há um produto com este código de barras: as vendas são dele.',
  name_in_use:
    'Já havia um cliente com este nome: é o mesmo se o documento é igual, senão o novo tem um número no nome.',
}

interface DraftResult {
  readonly offline_id: string | null
  readonly status: 'created' | 'duplicate' | 'error'
  readonly [field: string]: unknown
}

const refusalsOf = ({ one }: DraftKind): RefusalTexts => ({
  permission_required: () => ({ message: `Seu perfil não cadastra ${one}s.`, errors: {} }),
  duplicate_resource: ({ field = 'offline_id', conflicting_id }) => ({
    message: `Há outro ${one} com estes dados.`,
    errors: { [String(field)]: [`já usado pelo ${one} ${conflicting_id}`] },
  }),
})

function resultOf(kind: DraftKind, sent: unknown, result: ElementResult): DraftResult {
  const offline_id = readOfflineId(sent)
  if (isNotRecorded(result)) {
    const text = refusalText(result, refusalsOf(kind), `O ${kind.one} tem dados inválidos e não foi cadastrado.`)
    return { offline_id, status: 'error', [kind.id]: null, code: result.refused, ...text }
  }
  const { warnings = [] } = (result.remarks ?? {}) as { readonly warnings?: readonly DraftWarning[] }
  return {
    offline_id,
    status: result.outcome === 'created' ? 'created' : 'duplicate',
    [kind.id]: parseSubject(result.subject).id,
    ...(warnings.length > 0 && { warnings: warnings.map((code) => ({ code, message: WARNINGS[code] })) }),
  }
}

function draftsMessage({ one, many }: DraftKind, results: readonly DraftResult[]): string {
  const count = (status: DraftResult['status']) => results.filter((each) => each.status === status).length
  const parts = [`${count('created')} novos`, `${count('duplicate')} já cadastrados`, `${count('error')} com erro`]
  return `${results.length} ${results.length === 1 ? one : many}: ${parts.join(', ')}.`
}

function readItem(sent: unknown): Invocation | Refusal {
  const { data, error } = OfflineItemInput.safeParse(sent)
  if (error) return refuseInvalid(error)
  const { offline_id, ...fields } = data
  return invoke(createOfflineItem, { offline_id, record: { ...fields, type: DEFAULT_ITEM_TYPE } })
}

function readCustomer(sent: unknown): Invocation | Refusal {
  const { data, error } = OfflineCustomerInput.safeParse(sent)
  if (error) return refuseInvalid(error)
  const { offline_id, ...record } = data
  return invoke(createOfflineCustomer, { offline_id, record })
}

/** Uploads what was typed in at tills, each element on its own; repeated ones make nothing twice. */
const draftRoute = (
  { writer, log }: UploadServices,
  operation: Omit<SyncRoute, 'handle'>,
  kind: DraftKind,
  listOf: (body: unknown) => readonly unknown[],
  read: (sent: unknown) => Invocation | Refusal,
): SyncRoute => ({
  ...operation,
  async handle(request, response) {
    const session = getTillSession(response)
    const sent = listOf(request.body)
    const done = await runUpload({ writer, log, session, response }, sent, read)
    const results = done.map((result, position) => resultOf(kind, sent[position], result))
    await sendResults(response, results, draftsMessage(kind, results))
  },
})

const itemsRoute = (services: UploadServices): SyncRoute =>
  draftRoute(services, SYNC_OPERATIONS.items, ITEM, (body) => parseInput(UploadedItems, body).items, readItem)

const customersRoute = (services: UploadServices): SyncRoute =>
  draftRoute(
    services,
    SYNC_OPERATIONS.customers,
    CUSTOMER,
    (body) => parseInput(UploadedCustomers, body).customers,
    readCustomer,
  )

/** Writes the answer of a download. */
const download =
  (poolOf: PoolOf, companyId: number, list: typeof listProductsForTill, since: string | undefined) =>
  async (write: StreamWrite): Promise<void> => {
    write('{"success":true,"data":[')
    const read = await list(poolOf(companyId), companyId, since, separated(write))
    if (!read) return
    write(`],"sync_timestamp":"${read.syncTimestamp}","total":${read.total}`)
    write(read.deleted === null ? '}' : `,"deleted":[${read.deleted}]}`)
  }

/** Products and customers for tills, all or changed ones, and changes that a till does not know yet. */
function productRoutes(poolOf: PoolOf, outgoing: Outgoing): SyncRoute[] {
  return [
    {
      ...SYNC_OPERATIONS.products,
      async handle(request, response) {
        const { companyId } = getTillSession(response)
        const { last_sync } = parseInput(ProductQuery, request.query)
        await outgoing.send(response, companyId, download(poolOf, companyId, listProductsForTill, last_sync))
      },
    },
    {
      ...SYNC_OPERATIONS.customerList,
      async handle(request, response) {
        const { companyId } = getTillSession(response)
        const { last_sync, updated_since } = parseInput(CustomerQuery, request.query)
        const since = last_sync ?? updated_since
        await outgoing.send(response, companyId, download(poolOf, companyId, listCustomersForTill, since))
      },
    },
    {
      ...SYNC_OPERATIONS.conflicts,
      async handle(request, response) {
        const { companyId } = getTillSession(response)
        const { products } = parseInput(ProductCheck, request.body)
        const known = await parseEach(KnownProduct, 'products', products, createTimeSlicer(companyId))
        await outgoing.send(response, companyId, async (write) => {
          let found = false
          const conflicts = separated(write)
          write('{"success":true,"conflicts":[')
          const checkedAt = await checkProducts(poolOf(companyId), companyId, known, (records) => {
            found = true
            return conflicts(records)
          })
          if (checkedAt) write(`],"has_conflicts":${found},"checked_at":"${checkedAt}"}`)
        })
      },
    },
  ]
}

/** Balance and last day of a voucher; 0 and null of an unknown one. */
const voucherRoute = (poolOf: PoolOf): SyncRoute => ({
  ...SYNC_OPERATIONS.voucher,
  async handle(request, response) {
    const { companyId } = getTillSession(response)
    const { voucher } = parseInput(VoucherQuery, request.query)
    const found = await findVoucher(fullReader(poolOf(companyId), companyId), voucher)
    const until = JSON.stringify(found?.valid_until ?? null)
    const of = `"voucher":${JSON.stringify(voucher)},"balance":${found?.left ?? '0.00'},"valid_until":${until}`
    sendJson(response, 200, `{"success":true,${of}}`)
  },
})

/** Registers a device as a till of the company. */
const tillRoute = ({ writer }: Pick<Services, 'writer'>): SyncRoute => ({
  ...SYNC_OPERATIONS.tills,
  async handle(request, response) {
    const { name, public_key } = parseInput(TillInput, request.body)
    const { x, y } = public_key
    const uploader = toUploader(getTillSession(response), response)
    const answer = await runList(writer, uploader, [invoke(registerTill, { name, x, y })])
    const result = isRefusal(answer) ? answer : (answer[0] as CommandResult)
    if (isRefusal(result)) throw new Problem(result.refused, result.details)
    const { id } = parseSubject(result.subject)
    sendSuccess(response, { id, number: id, ...result.remarks })
  },
})

/** Puts commas between the pieces of a list. */
function separated(write: StreamWrite): (records: EncodedText) => boolean {
  let comma = ''
  return (records) => {
    const goesOn = write(comma, records)
    comma = ','
    return goesOn
  }
}

/** What the sync interface is given. */
type SyncServices = Pick<Services, 'reads' | 'writer' | 'access' | 'environment' | 'limits' | 'traffic' | 'log'>

/**
 * The sync interface of tills: all of /api except API v1, so unknown paths get its error shape too. It serves every
 * company, with or without the API add-on.
 */
export function syncRouter(services: SyncServices): Router {
  const { access, limits, traffic } = services
  const router = express.Router({ caseSensitive: true, strict: true })
  const limitAnonymous = limitUnauthenticatedBy(limits.addresses)
  // An unknown route answers without authentication, so the request counts as unauthenticated.
  const refuse =
    (problem: Problem): RequestHandler =>
    async (request, response) => {
      await limitAnonymous(request, response)
      throw problem
    }
  const authenticate = (takesEnded: boolean) => requireToken({ ...access, addresses: limits.addresses }, takesEnded)
  const [authenticated, authenticatedOrEnded] = [authenticate(false), authenticate(true)]
  const charge: ChargeBytes = (companyId, bytes) => access.authenticator.charge(companyId, bytes)
  router.use(forbidCaching, requireHttps(limitAnonymous))
  const limitLarge = limitLargeRequests(traffic.largeCalls)
  const [companyBudget, loginBudget] = [
    companyBodyBudget(traffic.bodies),
    unauthenticatedBodyBudget(traffic.unauthenticatedBodies.tillLogins),
  ]
  const bodyReaders = (isOpen: true | undefined, limit: number): RequestHandler[] =>
    isOpen ? jsonBodyUpTo(limit, loginBudget) : countBodyBytes(limit, companyBudget, charge)
  const routes = routesOf(services).map(({ method, path, isOpen, bodyBytes, takesEnded, handle }) => {
    const readBody = bodyBytes ? bodyReaders(isOpen, bodyBytes) : []
    const recheckToken = [
      ...(bodyBytes ? [requireTokenStill(access.tokens)] : []),
      ...(takesEnded ? [admitEnded(access.tokens, takesEnded, charge)] : []),
    ]
    const first = takesEnded ? authenticatedOrEnded : authenticated
    const middleware = isOpen ? readBody : [first, limitLarge, ...readBody, ...recheckToken]
    return { method, path, handlers: [...middleware, handle] }
  })
  mountRoutes(router, '/api', routes, { refuse })
  router.use(refuse(new Problem('not_found')))
  router.use(problemHandler(services.log, answerSyncProblem))
  return router
}

/** Counts a body against its company before it is read, or afterwards if its size is unknown before. */
function countBodyBytes(limit: number, room: BodyBudget, charge: ChargeBytes): RequestHandler[] {
  const companyOf = (response: Response) => getTillSession(response).companyId
  const chargeDeclared: RequestHandler = async (request, response, next) => {
    // Of an ended token nothing counts before tills are known to have signed it.
    const bytes = getTillSession(response).ended ? null : declaredBytes(request, limit)
    if (bytes !== null) await chargeOrRefuse(charge, response, companyOf(response), bytes)
    next()
  }
  return [chargeDeclared, ...jsonBodyUpTo(limit, room, chargeRead(charge, companyOf, limit))]
}

const routesOf = ({ access, reads: { poolOf }, environment, traffic, writer, log }: SyncServices): SyncRoute[] => [
  ...authRoutes(access),
  statusRoute,
  configRoute(poolOf, environment.publicUrl),
  ...productRoutes(poolOf, traffic.outgoing),
  voucherRoute(poolOf),
  tillRoute({ writer }),
  itemsRoute({ writer, log }),
  customersRoute({ writer, log }),
  uploadRoute({ poolOf, writer, log }),
  returnsRoute({ writer, log }),
  cashRoute({ writer, log }),
]

/** Answers contain tokens and personal data. */
const forbidCaching: RequestHandler = (_request, response, next) => {
  response.setHeader('Cache-Control', 'no-store')
  next()
}
