import type { Response } from 'express'
import type { SyncSession } from '#access/till-access.ts'
import { OfflineSaleInput } from '#commands/offline-sale-input.ts'
import { warning } from '#commands/offline-sale-warnings.ts'
import { recordOfflineSale } from '#commands/record-offline-sale.ts'
import { type ChainedAt, inChain, parseTillPlace, type RefusedInChain } from '#commands/till-commands.ts'
import { type Refusal, type RefusalCode, refuse, refuseInvalid } from '#domain/refusals.ts'
import { sendBytes } from '#http/answers.ts'
import { Problem, parseInput } from '#http/problems.ts'
import { type Command, command, type Invocation, invoke, isRefusal, type OutcomeKind } from '#ledger/command.ts'
import { parseSubject } from '#ledger/projection.ts'
import type { CommandResult } from '#ledger/write/idempotency.ts'
import { runList } from '#ledger/write/run.ts'
import { isFaultOfRequest } from '#ledger/write/writer.ts'
import { Unavailable } from '#lib/errors.ts'
import { createTimeSlicer } from '#lib/fair-sharing.ts'
import type { PoolOf } from '#postgres/pool.ts'
import { noteRefusals, type RecordedSale, type RefusedUpload, type SaleResult } from '#privacy/refused-sales.ts'
import type { OfflineSaleWarning } from '#projections/fiscal-documents.ts'
import type { Services } from '#services.ts'
import { CHAIN_MESSAGES, composeListAnswer, type SyncRoute, sentId, UploadedSales } from './till-answers.ts'
import { SYNC_OPERATIONS } from './till-operations.ts'
import { getTillSession } from './till-router.ts'
import { toUploader } from './upload-access.ts'

type Code = OfflineSaleWarning['code']

interface UploadedElement {
  readonly offline_id: string
  readonly noted?: readonly Code[]
}

/** The command of an element, alone and in its till's chain. */
export const elementCommand = <I extends UploadedElement>(alone: Command<I>) => ({ alone, chained: inChain(alone) })

type ElementCommand<I extends UploadedElement> = ReturnType<typeof elementCommand<I>>

const RECORD_SALE = elementCommand(recordOfflineSale)

/** Invokes the command in the till's chain if the element names one; without `till` everything is as it was. */
export function invokeElement<I extends UploadedElement>(
  { alone, chained }: ElementCommand<I>,
  sent: unknown,
  given: I,
  noted: readonly Code[] = [],
): Invocation {
  const place = parseTillPlace(sent)
  if (place === null || place === 'till_signature') {
    const codes = place === null ? noted : [...noted, place]
    return invoke(alone, codes.length === 0 ? given : { ...given, noted: codes })
  }
  return invoke(chained, { ...given, noted, place, tillId: place.id })
}

const REFUSE = elementCommand(
  command<UploadedElement & { readonly refusal: Refusal }>({
    needs: () => [],
    decide: (_rows, { refusal }) => refusal,
  }),
)

/** A refused element of a till's chain has come nevertheless. */
export function refuseInChain(sent: unknown, refusal: Refusal): Invocation | Refusal {
  if (typeof sent !== 'object' || sent === null) return refusal
  const place = parseTillPlace(sent)
  if (place === null || place === 'till_signature') return refusal
  const offline_id = sentId((sent as { offline_id?: unknown }).offline_id) ?? ''
  return invokeElement(REFUSE, sent, { offline_id, refusal })
}

/** Elements of one till in the order of its chain, which shows no gap that the upload itself closes. */
function inOrderOfChain(elements: readonly Invocation[]): readonly Invocation[] {
  const placeIn = ({ input }: Invocation) => (input as { place?: ChainedAt }).place
  const till = elements[0] && placeIn(elements[0])?.id
  if (till === undefined || elements.some((each) => placeIn(each)?.id !== till)) return elements
  return elements.toSorted((a, b) => (placeIn(a)?.number ?? 0) - (placeIn(b)?.number ?? 0))
}

/** The result of an element as its command alone would have it: refused, or with what the chain has noted as warnings. */
function resultInChain(result: CommandResult): CommandResult {
  if ('refused' in result) return result
  const { refusedInChain, noted, warnings, ...remarks } = (result.remarks ?? {}) as RefusedInChain & {
    readonly noted?: readonly Code[]
    readonly warnings?: readonly (string | { readonly code: string })[]
  }
  if (refusedInChain) return refusedInChain
  if (!noted || noted.length === 0 || !warnings) return result
  const known = new Set(warnings.map((each) => (typeof each === 'string' ? each : each.code)))
  return { ...result, remarks: { ...remarks, warnings, noted: noted.filter((code) => !known.has(code)) } }
}

/** An element that is not recorded: a refusal, or an unexpected fault of the service. */
export interface NotRecorded {
  readonly refused: RefusalCode | 'internal_error'
  readonly details?: Refusal['details']
}

export type ElementResult = Exclude<CommandResult, Refusal> | NotRecorded

export const isNotRecorded = (result: ElementResult): result is NotRecorded => 'refused' in result

/** Lines in one unit of work. More are no faster and delay other requests. */
const PORTION_LINES = 1_000

/** Lines that weigh as one command in a group commit (writer.ts). */
const LINES_OF_A_COMMAND = 32

export type UploadServices = Pick<Services, 'writer' | 'log'>

/** An uploading till, and what runs its commands. */
export interface Uploading extends UploadServices {
  readonly session: SyncSession
  readonly response: Response
}

/**
 * Reads and runs each element of an upload on its own; results in their order. An unexpected fault of one is its result,
 * and the others are recorded.
 */
export async function runUpload(
  uploading: Uploading,
  sent: readonly unknown[],
  read: (element: unknown) => Invocation | Refusal,
): Promise<ElementResult[]> {
  const elements = await readEach(uploading, sent, read)
  const invocations = elements.flatMap((each) => ('command' in each ? [each] : []))
  const ordered = inOrderOfChain(invocations)
  const done = new Map<object, ElementResult>()
  let next = 0
  for (const portion of portionsOf(ordered))
    for (const result of await runPortion(uploading, portion)) done.set(ordered[next++] as Invocation, result)
  return elements.map((each) => ('command' in each ? (done.get(each) as ElementResult) : each))
}

async function readEach(
  uploading: Uploading,
  sent: readonly unknown[],
  read: (element: unknown) => Invocation | Refusal,
): Promise<(Invocation | NotRecorded)[]> {
  const slices = createTimeSlicer(uploading.session.companyId)
  const elements: (Invocation | NotRecorded)[] = []
  for (const [position, element] of sent.entries()) {
    if (position > 0) await slices()
    try {
      elements.push(read(element))
    } catch (error) {
      elements.push(fault(uploading, error))
    }
  }
  return elements
}

function fault({ log, response }: Uploading, error: unknown): NotRecorded {
  log('till sync: element of an upload failed', error, { request_id: response.locals.requestId })
  return { refused: 'internal_error' }
}

const linesOf = ({ input }: Invocation): number => (input as { items?: readonly unknown[] }).items?.length ?? 1

/** Most uploads are one portion and one commit. A command that looks rows up is a request by itself. */
function* portionsOf(invocations: readonly Invocation[]): Iterable<Invocation[]> {
  let portion: Invocation[] = []
  let lines = 0
  for (const invocation of invocations) {
    const isAlone = invocation.command.lookup !== undefined
    if (portion.length > 0 && (isAlone || lines >= PORTION_LINES)) {
      yield portion
      portion = []
      lines = 0
    }
    if (isAlone) {
      yield [invocation]
      continue
    }
    portion.push(invocation)
    lines += linesOf(invocation)
  }
  if (portion.length > 0) yield portion
}

/** Runs a portion; one with a fault is halved until the element that causes it is alone. */
async function runPortion(uploading: Uploading, portion: readonly Invocation[]): Promise<readonly ElementResult[]> {
  const { writer, session, response } = uploading
  // The till has disconnected and will send the rest again.
  if (response.closed) throw new Unavailable('upload: the till has disconnected; it will send the rest again')
  const lines = portion.reduce((sum, each) => sum + linesOf(each), 0)
  try {
    const weight = Math.ceil(lines / LINES_OF_A_COMMAND)
    const results = await runList(writer, toUploader(session, response), portion, { weight })
    if (isRefusal(results)) throw new Problem(results.refused, results.details)
    return results.map(resultInChain)
  } catch (error) {
    if (error instanceof Problem || !isFaultOfRequest(error)) throw error
    if (portion.length === 1) return [fault(uploading, error)]
    const middle = Math.ceil(portion.length / 2)
    const first = await runPortion(uploading, portion.slice(0, middle))
    return [...first, ...(await runPortion(uploading, portion.slice(middle)))]
  }
}

/** Answers an upload: the result of each element, and one sentence. */
export async function sendResults(
  response: Response,
  results: readonly { readonly status: string }[],
  message: string,
): Promise<void> {
  const slices = createTimeSlicer(getTillSession(response).companyId)
  sendBytes(response, 200, await composeListAnswer(results, message, slices))
}

/**
 * Uploads offline sales. Each is recorded or refused on its own; the answer is always 200. A repeated upload
 * records nothing twice, so a till that got no answer simply retries.
 */
export const uploadRoute = ({ poolOf, writer, log }: UploadServices & { readonly poolOf: PoolOf }): SyncRoute => ({
  ...SYNC_OPERATIONS.sales,
  async handle(request, response) {
    const session = getTillSession(response)
    const { sales } = parseInput(UploadedSales, request.body)
    const done = await runUpload({ writer, log, session, response }, sales, readSale(session))
    const entries = done.map((result, position) => {
      const sale = sales[position]
      return { sale, result: isNotRecorded(result) ? refusedResult(sale, result) : recordedResult(sale, result) }
    })
    const noted = await noteRefusals(poolOf(session.companyId), session, entries)
    const message = uploadMessage(countResults(noted))
    await sendResults(response, noted, message)
  },
})

/** The command of a sale, or the refusal of an invalid one. */
const readSale =
  ({ userId, ended }: Pick<SyncSession, 'userId' | 'ended'>) =>
  (sale: unknown): Invocation | Refusal => {
    const { data, error } = OfflineSaleInput.safeParse(sale)
    if (error) return refuseInChain(sale, refuseInvalid(error))
    const isLate = ended?.late.has(sale) ?? false
    if (isLate && data.status === 'cancelled') return refuseInChain(sale, LATE_CANCELLATION)
    return invokeElement(RECORD_SALE, sale, { ...data, sellerId: userId }, isLate ? ['access_ended'] : [])
  }

/** A cancellation gives money back: made after the end of the user's access it waits for a person. */
const LATE_CANCELLATION = refuse('permission_required', { reason: 'access_ended' })

type Counts = Record<SaleResult['status'], number>

function countResults(results: readonly SaleResult[]): Counts {
  const counts: Counts = { created: 0, cancelled: 0, duplicate: 0, resolved: 0, error: 0 }
  for (const { status } of results) counts[status] += 1
  return counts
}

/** An upload that changes a recorded sale cancels it (UP-16). */
const RECORDED: Partial<Record<OutcomeKind, RecordedSale['status']>> = { created: 'created', updated: 'cancelled' }

interface SaleRemarks {
  readonly warnings: readonly OfflineSaleWarning[]
  /** Of the till's chain, beside the recorded ones. */
  readonly noted?: readonly OfflineSaleWarning['code'][]
}

function recordedResult(
  sale: unknown,
  { outcome, subject, remarks }: Exclude<ElementResult, NotRecorded>,
): RecordedSale {
  const { warnings: own, noted = [] } = remarks as SaleRemarks
  const warnings = [...own, ...noted.map((code) => warning(code))]
  return {
    offline_id: readOfflineId(sale),
    status: RECORDED[outcome] ?? 'duplicate',
    sale_id: parseSubject(subject).id,
    ...(warnings.length > 0 ? { warnings: warnings.map(shownWarning) } : {}),
  }
}

const refusedResult = (sale: unknown, refusal: NotRecorded): RefusedUpload => ({
  offline_id: readOfflineId(sale),
  status: 'error',
  sale_id: null,
  code: refusal.refused,
  ...refusalText(refusal, SALE_REFUSALS, 'A venda tem dados inválidos e não foi registrada.'),
})

export const readOfflineId = (sent: unknown): string | null =>
  sentId((sent as { offline_id?: unknown } | null)?.offline_id)

const salesText = (count: number): string => `${count} ${count === 1 ? 'venda' : 'vendas'}`

/** One sentence with the counts of an upload (UP-1). */
function uploadMessage({ created, cancelled, duplicate, resolved, error }: Counts): string {
  const processed = created + cancelled + duplicate + resolved + error
  const parts = [`${created} registrada${created === 1 ? '' : 's'}`]
  if (cancelled > 0) parts.push(`${cancelled} cancelada${cancelled === 1 ? '' : 's'}`)
  if (duplicate > 0) parts.push(`${duplicate} já enviada${duplicate === 1 ? '' : 's'} antes`)
  if (resolved > 0) parts.push(`${resolved} resolvida${resolved === 1 ? '' : 's'} no painel`)
  parts.push(`${error} com erro`)
  return `${salesText(processed)} processada${processed === 1 ? '' : 's'}: ${parts.join(', ')}.`
}

/** Message of a refused element, and its invalid fields. */
interface RefusalText {
  readonly message: string
  readonly errors: Readonly<Record<string, readonly string[]>>
}

/** What is said of refused elements of one kind, by code. */
export type RefusalTexts = Partial<Record<RefusalCode, (details: NonNullable<Refusal['details']>) => RefusalText>>

/** `invalid`: message where the fields say why. */
export function refusalText({ refused, details }: NotRecorded, texts: RefusalTexts, invalid: string): RefusalText {
  if (refused === 'internal_error')
    return { message: 'Erro interno ao registrar. Envie de novo mais tarde.', errors: {} }
  const fields = (details?.fields as RefusalText['errors'] | undefined) ?? {}
  return texts[refused]?.(details ?? {}) ?? { message: invalid, errors: fields }
}

const ofStatus = (message: string, why: string) => (): RefusalText => ({ message, errors: { status: [why] } })

const SALE_REFUSALS: RefusalTexts = {
  duplicate_resource: ({ conflicting_id }) => ({
    message: 'Outra venda já foi enviada com este offline_id.',
    errors: { offline_id: [`já usado pela venda ${conflicting_id}, que é diferente`] },
  }),
  already_settled: ofStatus(
    'A venda já foi recebida e não pode mais ser cancelada.',
    'uma conta desta venda já foi recebida',
  ),
  has_payments: ofStatus(
    'A venda já foi recebida em parte e não pode ser cancelada.',
    'uma parte da conta a receber desta venda já foi paga: estorne o pagamento antes',
  ),
  fiscal_document_issued: ofStatus(
    'A venda tem documento fiscal e não pode mais ser cancelada.',
    'a venda tem documento fiscal autorizado',
  ),
  permission_required: ({ reason }) =>
    reason === 'access_ended'
      ? ofStatus(
          'A venda foi cancelada depois do fim do acesso do usuário: uma pessoa decide no painel.',
          'cancelada depois do fim do acesso do usuário',
        )()
      : ofStatus(
          'A venda é de outro usuário: quem pode cancelar vendas de outros a cancela.',
          'a venda é de outro usuário',
        )(),
  sale_returned: ofStatus('A venda já tem devolução e não pode mais ser cancelada.', 'a venda já tem devolução'),
}

const sentence = (text: string | null): string => `${text ?? ''}${/[.!?]$/.test(text ?? '') ? '' : '.'}`

const PLAIN_MESSAGES = {
  product_deactivated: 'O produto está desativado no cadastro.',
  ...CHAIN_MESSAGES,
  recorded_from_receipt: 'Uma pessoa registrou a venda pelo código do cupom.',
  access_ended: 'A venda foi feita depois do fim do acesso do usuário.',
} as const

/** A warning as shown in a result: numbers are JSON numbers. */
function shownWarning({ code, product_id, found, expected, sale_id }: OfflineSaleWarning): object {
  const about = product_id !== null && { product_id }
  switch (code) {
    case 'negative_stock':
      return { code, message: `O estoque ficou negativo: ${found}.`, product_id, stock: Number(found) }
    case 'quantity_not_whole':
      return { code, message: `Quantidade não inteira de um produto vendido por unidade: ${found}.`, product_id }
    case 'price_differs': {
      const message = `O preço vendido, ${found}, difere do preço do cadastro, ${expected}.`
      return { code, message, product_id, price: Number(found), catalog_price: Number(expected) }
    }
    case 'payment_pending':
      return { code, message: `O pagamento em ${found} está pendente, mas não é a prazo.` }
    case 'change_without_cash':
      return { code, message: `Há troco de ${found} sem pagamento em dinheiro.` }
    case 'created_at_in_future':
      return { code, message: `A data da venda, ${found}, está no futuro: confira o relógio do caixa.` }
    case 'session_of_other':
      return { code, message: `A sessão ${found} é a gaveta de outro usuário.` }
    case 'created_at_old':
      return { code, message: `A data da venda, ${found}, é antiga demais: confira o relógio do caixa.` }
    case 'cancelled_at_in_future':
      return { code, message: `A data do cancelamento, ${found}, está no futuro: confira o relógio do caixa.` }
    case 'cancelled_at_before_sale':
      return { code, message: `A data do cancelamento, ${found}, é anterior à da venda, ${expected}.` }
    case 'line_total_rounded': {
      const message = `O total do item, ${found}, difere por arredondamento de quantidade × preço, ${expected}.`
      return { code, message, ...about, total: Number(found), expected_total: Number(expected) }
    }
    case 'line_discount':
      return { code, message: `O item teve desconto de ${found}.`, ...about, discount: Number(found) }
    case 'discount':
      return { code, message: `A venda teve desconto de ${found}.`, discount: Number(found) }
    case 'total_rounded': {
      const message = `O total, ${found}, difere por arredondamento da soma dos itens, ${expected}.`
      return { code, message, total: Number(found), expected_total: Number(expected) }
    }
    case 'amount_received_differs': {
      const message = `O valor recebido, ${found}, não confere: com o total e o troco seria ${expected}.`
      return { code, message, amount_received: Number(found), expected_amount: Number(expected) }
    }
    case 'discount_limit_exceeded':
      return { code, message: `O desconto, ${found}, passa do limite do usuário, ${expected} por venda e por dia.` }
    case 'payment_already_used':
      return { code, message: `O pagamento ${found} já está na venda ${sale_id}.`, sale_id }
    case 'credit_exceeded':
      return { code, message: `O crédito de troca usado, ${found}, passa do saldo, ${expected}.` }
    case 'voucher_expired':
      return { code, message: `O vale ${found} valeu até ${expected}.` }
    case 'customer_unknown':
      return { code, message: `O cliente ${found} não existe: a venda foi registrada sem cliente.` }
    case 'customer_deleted':
      return { code, message: `O cliente ${found} está excluído no cadastro.` }
    case 'customer_forgotten':
      return { code, message: `Os dados do cliente ${found} foram excluídos: a venda foi registrada sem o nome.` }
    case 'product_unknown':
      return { code, message: `O produto${found ? ` ${found}` : ''} não existe no cadastro.`, ...about }
    case 'payment_type_unknown':
      return { code, message: `A forma de pagamento ${found} não existe.` }
    case 'recorded_as_is':
      return { code, message: `Uma pessoa registrou a venda como está: ${sentence(found)}` }
    case 'recorded_corrected':
      return { code, message: `Uma pessoa corrigiu e registrou a venda: ${sentence(found)}` }
    default:
      return { code, message: PLAIN_MESSAGES[code], ...about }
  }
}
