import {
  createOfflineCustomer,
  createOfflineItem,
  type DraftWarning,
  OfflineCustomerInput,
  OfflineItemInput,
} from '#commands/offline-sale-input.ts'
import { type Refusal, refuseInvalid } from '#domain/refusals.ts'
import { parseInput } from '#http/problems.ts'
import { type Invocation, invoke } from '#ledger/command.ts'
import { parseSubject } from '#ledger/projection.ts'
import { DEFAULT_ITEM_TYPE } from '#records/items.ts'
import { type SyncRoute, UploadedCustomers, UploadedItems } from './till-answers.ts'
import { SYNC_OPERATIONS } from './till-operations.ts'
import { getTillSession } from './till-router.ts'
import {
  type ElementResult,
  isNotRecorded,
  type RefusalTexts,
  readOfflineId,
  refusalText,
  runUpload,
  sendResults,
  type UploadServices,
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

export const itemsRoute = (services: UploadServices): SyncRoute =>
  draftRoute(services, SYNC_OPERATIONS.items, ITEM, (body) => parseInput(UploadedItems, body).items, readItem)

export const customersRoute = (services: UploadServices): SyncRoute =>
  draftRoute(
    services,
    SYNC_OPERATIONS.customers,
    CUSTOMER,
    (body) => parseInput(UploadedCustomers, body).customers,
    readCustomer,
  )
