import * as z from 'zod'
import { fingerprintSale, type OfflineSale, OfflineSaleInput } from '#commands/offline-sale-input.ts'
import { type RefusedSaleRecording, recordRefusedSale } from '#commands/record-offline-sale.ts'
import { Instant, inZone } from '#domain/instant.ts'
import { describeIssues, type Refusal, refuse } from '#domain/refusals.ts'
import { boundedText } from '#domain/text.ts'
import { isRefusal } from '#ledger/command.ts'
import { resolveRefusedSale } from '#privacy/refused-sales.ts'
import { findNamesForTill, type RefusedSaleDetails } from '#queries/offline-sale-queries.ts'
import {
  amountInput,
  choiceInput,
  lineInput,
  momentInput,
  namedOptions,
  quantityInput,
  recordChoiceInput,
} from '../forms/input-kinds.ts'
import { type Field, type Fields, fillFromRecord, formText, reasonField } from '../forms/panel-form.ts'
import type { FormSubmission, PageContext, PanelRoute, Redirect } from '../panel-route.ts'
import { formPages } from '../ui/form-pages.tsx'
import { itemField } from './item-pages.tsx'
import { loadPaymentTypes } from './payment-type-pages.tsx'
import {
  asIsObstacle,
  loadRefusedSale,
  REFUSED_SALES_PATH,
  recordingObstacle,
  toRefusedTitle,
} from './refused-sale-pages.tsx'
import { idsIn, isPlainNumber, type Members, toMembers } from './uploaded-sale-pages.tsx'

/** Lines of a sale in the form, wrong ones first: a form has at most 1,000 fields. */
const LINES = 100

const REASON: Fields = { reason: reasonField('Fica registrado na venda com o seu nome.') }
const Reason = z.object({ reason: boundedText(2_000) })

const back = ({ id }: RefusedSaleDetails) => `${REFUSED_SALES_PATH}/${id}`

/** Fingerprint by which a repeated upload is recognised: of the values, or of the text if the values are invalid. */
function fingerprintOfSent({ payload, digest }: RefusedSaleDetails): string {
  const sent = OfflineSaleInput.safeParse(payload)
  return sent.success ? fingerprintSale(sent.data) : digest
}

/** If another sale has the till's identifier, a derived one is used, equal on each attempt. */
const ownIdentifier = ({ code, digest }: RefusedSaleDetails, offlineId: string): string =>
  code === 'duplicate_resource' ? `${offlineId.slice(0, 90)}~${digest.slice(0, 8)}` : offlineId

async function recordAndResolve(
  submission: FormSubmission,
  refused: RefusedSaleDetails,
  recording: Pick<RefusedSaleRecording, 'how' | 'reason'> & { readonly sale: OfflineSale },
): Promise<Redirect | Refusal> {
  const fingerprint = fingerprintOfSent(refused)
  const sale = { ...recording.sale, sellerId: refused.user.id }
  const answer = await submission.run(recordRefusedSale, { ...recording, sale, fingerprint })
  if (isRefusal(answer)) return answer
  const { id: saleId } = answer.record as { id: number }
  const { context, session } = submission
  const by = { userId: session.userId, note: recording.reason, saleId }
  // If the process dies in between, the sale is recorded but still listed; recording it again finds it.
  await resolveRefusedSale(context.reads.poolOf(session.companyId), session.companyId, refused.id, by)
  return { to: `/vendas/${saleId}`, flash: 'registrada' }
}

const asIs = formPages<RefusedSaleDetails, z.infer<typeof Reason>>({
  path: `${REFUSED_SALES_PATH}/:id/registrar`,
  section: 'tills',
  access: 'sell',
  subject: loadRefusedSale,
  obstacle: asIsObstacle,
  title: toRefusedTitle,
  label: 'Registrar como está',
  back,
  intro: () => (
    <p>
      A venda é registrada com os valores que o caixa enviou, mesmo que não fechem; o que não existe no cadastro fica
      com o código enviado. O estoque e as contas a receber seguem a venda.
    </p>
  ),
  fields: () => REASON,
  schema: Reason,
  async act(submission, refused, { reason }) {
    if (asIsObstacle(refused) !== null) return { to: back(refused), flash: 'ja-resolvida' }
    const sale = OfflineSaleInput.parse(refused.payload)
    const offline_id = ownIdentifier(refused, sale.offline_id)
    return recordAndResolve(submission, refused, { sale: { ...sale, offline_id }, how: 'recorded_as_is', reason })
  },
})

const corrected = formPages<RefusedSaleDetails, Members & { readonly reason: string }>({
  path: `${REFUSED_SALES_PATH}/:id/corrigir`,
  section: 'tills',
  access: 'sell',
  subject: loadRefusedSale,
  obstacle: recordingObstacle,
  title: toRefusedTitle,
  label: 'Registrar a venda corrigida',
  back,
  intro: () => <p>Corrija o que for preciso. O restante fica como o caixa enviou.</p>,
  fields: fieldsOf,
  initial: (refused, { readModel }) => shownOf(refused, readModel.timezone),
  schema: z.looseObject({ reason: boundedText(2_000) }),
  async act(submission, refused, typed) {
    if (recordingObstacle(refused) !== null) return { to: back(refused), flash: 'ja-resolvida' }
    const sale = OfflineSaleInput.safeParse(await mergedOf(submission, refused, typed))
    if (!sale.success) return dotted(refuse('validation_failed', { ...describeIssues(sale.error) }))
    const how = 'recorded_corrected'
    const result = await recordAndResolve(submission, refused, { sale: sale.data, how, reason: typed.reason })
    return isRefusal(result) ? dotted(result) : result
  },
})

export const recordRefusedPages: readonly PanelRoute[] = [...asIs, ...corrected]

/** `items[0].total` becomes the field name `items.0.total`. */
function dotted(refusal: Refusal): Refusal {
  const { fields } = refusal.details as { fields?: Record<string, string[]> }
  if (!fields) return refusal
  const named = Object.entries(fields).map(([path, messages]) => [path.replace(/\[(\d+)\]/g, '.$1'), messages])
  return { ...refusal, details: { ...refusal.details, fields: Object.fromEntries(named) } }
}

/** Positions of the displayed lines: those with errors, then the first ones; an empty one if there is none. */
function positionsOf({ payload, errors }: RefusedSaleDetails, list: 'items' | 'payments'): number[] {
  const lines = toMembers(payload)[list]
  const count = Array.isArray(lines) ? lines.length : 0
  const named = Object.keys(errors).flatMap((path) => {
    const position = path.startsWith(`${list}[`) ? Number.parseInt(path.slice(list.length + 1), 10) : -1
    return position >= 0 && position < count ? [position] : []
  })
  const all = [...new Set([...named, ...Array.from({ length: count }, (_, position) => position)])]
  return count === 0 ? [0] : all.slice(0, list === 'items' ? LINES : 50).sort((a, b) => a - b)
}

async function fieldsOf(refused: RefusedSaleDetails, visit: PageContext): Promise<Fields> {
  const { readModel } = visit
  const form = 'form' in visit ? (visit as FormSubmission).form : {}
  const { products } = await findNamesForTill(readModel.reader, idsIn(refused.payload))
  const types = (await loadPaymentTypes({ readModel })).map(({ id, name }) => ({ value: String(id), label: name }))
  const fields: Record<string, Field> = {
    offline_id: { label: 'Identificação no caixa', kind: lineInput, columns: 6 },
    created_at: { label: 'Data da venda', kind: momentInput, columns: 3 },
    status: {
      label: 'Situação',
      kind: choiceInput(namedOptions({ completed: 'Concluída', cancelled: 'Cancelada' })),
      columns: 3,
    },
    total: { label: 'Total', kind: amountInput, columns: 4 },
    amount_received: { label: 'Valor recebido', kind: amountInput, columns: 4 },
    change: { label: 'Troco', kind: amountInput, columns: 4 },
  }
  for (const at of positionsOf(refused, 'items')) {
    const { product_id: id } = toMembers(lineOf(refused.payload, 'items', at))
    const name = products.get(Number(id))
    fields[`items.${at}.product_id`] = await itemField(visit, {
      label: `Item ${at + 1}: produto`,
      columns: 12,
      hint: name === undefined ? unknownProduct(id) : 'Nome, código de barras ou SKU.',
      current: name === undefined ? null : { id, name },
      typed: formText(form, `items.${at}.product_id`).trim(),
    })
    fields[`items.${at}.quantity`] = { label: `Item ${at + 1}: quantidade`, kind: quantityInput, columns: 4 }
    fields[`items.${at}.price`] = { label: `Item ${at + 1}: preço`, kind: amountInput, columns: 4 }
    fields[`items.${at}.total`] = { label: `Item ${at + 1}: total`, kind: amountInput, columns: 4 }
  }
  for (const at of positionsOf(refused, 'payments')) {
    fields[`payments.${at}.payment_type_id`] = {
      label: `Pagamento ${at + 1}: forma`,
      kind: recordChoiceInput(types),
      columns: 4,
    }
    fields[`payments.${at}.amount`] = { label: `Pagamento ${at + 1}: valor`, kind: amountInput, columns: 4 }
    const kind = choiceInput(namedOptions({ completed: 'Pago', pending: 'Pendente' }))
    fields[`payments.${at}.status`] = { label: `Pagamento ${at + 1}: situação`, kind, columns: 4 }
  }
  return { ...fields, ...REASON }
}

/** Hint beside an empty field; the sent number is kept as long as the field is empty. */
const unknownProduct = (id: unknown): string =>
  `O caixa enviou o produto ${textOfSent(id)}, que não existe no catálogo. Procure pelo nome, código de barras ou SKU.`

const textOfSent = (id: unknown): string => (typeof id === 'number' || typeof id === 'string' ? String(id) : '')

const lineOf = (payload: unknown, list: 'items' | 'payments', at: number): unknown => {
  const lines = toMembers(payload)[list]
  return Array.isArray(lines) ? lines[at] : undefined
}

/** The upload, as far as fields can show it. */
function shownOf({ payload }: RefusedSaleDetails, timezone: string): object {
  const sale = toMembers(payload)
  const sold = Instant.safeParse(sale.created_at)
  const texts = (line: unknown) =>
    Object.fromEntries(Object.entries(toMembers(line)).map(([name, value]) => [name, shownValue(name, value)]))
  const lines = (list: unknown) => (Array.isArray(list) ? list.map(texts) : [])
  return {
    ...texts(sale),
    created_at: sold.success ? inZone(sold.data, timezone) : null,
    items: lines(sale.items),
    payments: lines(sale.payments),
  }
}

const WHOLE = ['offline_id', 'product_id', 'payment_type_id', 'quantity']

/** Amounts keep their decimals, at least two. */
function shownValue(name: string, value: unknown): string | null {
  if (typeof value === 'string') return value
  if (!isPlainNumber(value)) return null
  const [whole, decimals = ''] = String(value).split('.')
  if (WHOLE.includes(name)) return String(value)
  return `${whole}.${decimals.padEnd(2, '0')}`
}

/** The upload with the typed values in place of the displayed ones. */
async function mergedOf(submission: FormSubmission, refused: RefusedSaleDetails, typed: Members): Promise<object> {
  const { timezone } = submission.readModel
  const fields = await fieldsOf(refused, submission)
  const shown = fillFromRecord(fields, shownOf(refused, timezone), timezone)
  const sale: Record<string, unknown> = { ...toMembers(refused.payload) }
  for (const list of ['items', 'payments'] as const) {
    const lines = sale[list]
    sale[list] = Array.isArray(lines) ? lines.map((line) => ({ ...toMembers(line) })) : []
  }
  for (const [name, { kind }] of Object.entries(fields)) {
    const isNumber = kind === amountInput || kind === quantityInput
    // A number sent as text looks correct, so it is parsed like typed input.
    const isText = isNumber && typeof memberIn(sale, name) === 'string'
    const isTyped = formText(submission.form, name).trim() !== shown.values[name]?.[0]
    const value = memberIn(typed, name) ?? undefined
    if (isTyped || isText) setMember(sale, name, isNumber && typeof value === 'string' ? Number(value) : value)
  }
  return sale
}

/** The member of a path such as `items.0.total`. */
const memberIn = (record: object, name: string): unknown =>
  name.split('.').reduce<unknown>((value, part) => (value as Members | null | undefined)?.[part], record)

function setMember(sale: Record<string, unknown>, name: string, value: unknown): void {
  const [list = '', position, member] = name.split('.')
  if (position === undefined || member === undefined) {
    sale[list] = value
    return
  }
  const lines = sale[list] as Record<string, unknown>[]
  lines[Number(position)] = { ...lines[Number(position)], [member]: value }
}
