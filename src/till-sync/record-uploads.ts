import {
  createOfflineCustomer,
  createOfflineItem,
  type DraftWarning,
  OfflineCustomerInput,
  OfflineItemInput,
} from '#commands/create-offline-records.ts'
import { type Refusal, refuseInvalid } from '#domain/refusals.ts'
import { sendBytes } from '#http/answers.ts'
import { parseInput } from '#http/problems.ts'
import { type Invocation, invoke } from '#ledger/command.ts'
import { parseSubject } from '#ledger/projection.ts'
import { createTimeSlicer } from '#lib/fair-sharing.ts'
import { DEFAULT_ITEM_TYPE } from '#records/items.ts'
import { composeListAnswer } from './till-answers.ts'
import { SYNC_OPERATIONS } from './till-operations.ts'
import { type SyncRoute, UploadedCustomers, UploadedItems } from './till-requests.ts'
import { getTillSession } from './till-router.ts'
import {
  type ElementResult,
  FAULT_MESSAGE,
  getInvalidFields,
  isNotRecorded,
  type NotRecorded,
  readOfflineId,
  runUpload,
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

/** A message for the person at the counter, and the invalid fields. */
function refusalText({ one }: DraftKind, refusal: NotRecorded) {
  const { refused, details } = refusal
  if (refused === 'internal_error') return { message: FAULT_MESSAGE, errors: {} }
  if (refused === 'permission_required') return { message: `Seu perfil não cadastra ${one}s.`, errors: {} }
  if (refused === 'duplicate_resource') {
    const field = String(details?.field ?? 'offline_id')
    return {
      message: `Há outro ${one} com estes dados.`,
      errors: { [field]: [`já usado pelo ${one} ${details?.conflicting_id}`] },
    }
  }
  return { message: `O ${one} tem dados inválidos e não foi cadastrado.`, errors: getInvalidFields(refusal) }
}

function resultOf(kind: DraftKind, sent: unknown, result: ElementResult): DraftResult {
  const offline_id = readOfflineId(sent)
  if (isNotRecorded(result))
    return { offline_id, status: 'error', [kind.id]: null, code: result.refused, ...refusalText(kind, result) }
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
    const answer = await composeListAnswer(results, draftsMessage(kind, results), createTimeSlicer(session.companyId))
    sendBytes(response, 200, answer)
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
