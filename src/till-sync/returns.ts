import { OfflineReturnInput } from '#commands/sales/offline-return-input.ts'
import { recordOfflineReturn } from '#commands/sales/record-offline-return.ts'
import type { Refusal } from '#domain/refusal.ts'
import { refuseInvalid } from '#domain/validation.ts'
import { sendBytes } from '#http/answer.ts'
import { parseInput } from '#http/problems.ts'
import { type Invocation, invoke, isRefusal } from '#ledger/command.ts'
import { parseSubject } from '#ledger/projection.ts'
import type { CommandResult } from '#ledger/write/answer.ts'
import type { Writer } from '#ledger/write/writer.ts'
import { createTimeSlicer } from '#lib/time-slicing.ts'
import type { OfflineReturnWarning } from '#projections/returns.ts'
import { tillSessionOf } from './auth.ts'
import { SYNC_OPERATIONS } from './operations.ts'
import { UploadedReturns } from './requests.ts'
import type { SyncRoute } from './route.ts'
import { offlineIdOf, runUpload } from './upload.ts'

/** Result of an uploaded return. */
interface ReturnResult {
  /** As sent, a number as its text; null if it was neither. */
  readonly offline_id: string | null
  readonly status: 'created' | 'duplicate' | 'error'
  readonly return_id: number | null
  readonly [field: string]: unknown
}

/** Uploads returns of tills (UP-100): each is recorded or refused on its own, and the answer is always 200. */
export const returnsRoute = ({ writer }: { readonly writer: Writer }): SyncRoute => ({
  ...SYNC_OPERATIONS.returns,
  async handle(request, response) {
    const session = tillSessionOf(response)
    const { returns } = parseInput(UploadedReturns, request.body)
    const slices = createTimeSlicer(session.companyId)
    const commands: Invocation[] = []
    const invalid = new Map<number, Refusal>()
    for (const [position, sent] of returns.entries()) {
      if (position > 0) await slices()
      const parsed = OfflineReturnInput.safeParse(sent)
      if (parsed.success) commands.push(invoke(recordOfflineReturn, parsed.data))
      else invalid.set(position, refuseInvalid(parsed.error))
    }
    const done = await runUpload(writer, commands, session, response)
    let next = 0
    const results = returns.map((sent, position) => resultOf(sent, invalid.get(position) ?? done[next++]))
    const body = { success: true, message: messageOf(results), summary: summaryOf(results), results }
    sendBytes(response, 200, Buffer.from(JSON.stringify(body)))
  },
})

function resultOf(sent: unknown, result: CommandResult | Refusal | undefined): ReturnResult {
  if (!result) throw new Error('upload: a valid return has no result')
  const offline_id = offlineIdOf(sent)
  if (isRefusal(result))
    return { offline_id, status: 'error', return_id: null, code: result.refused, ...textOf(result) }
  const { warnings, isAwaited } = result.remarks as {
    warnings: readonly OfflineReturnWarning[]
    isAwaited?: boolean
  }
  return {
    offline_id,
    status: result.outcome === 'created' ? 'created' : 'duplicate',
    return_id: parseSubject(result.subject).id,
    ...(isAwaited && { awaits_sale: true }),
    ...(warnings.length > 0 && { warnings: warnings.map(shownWarning) }),
  }
}

/** Message of a refused return, and its invalid fields. */
function textOf({ refused, details }: Refusal): { message: string; errors: Record<string, string[]> } {
  if (refused === 'duplicate_resource') {
    const errors = { offline_id: [`já usado pela devolução ${details?.conflicting_id}, que é diferente`] }
    return { message: 'Outra devolução já foi enviada com este offline_id.', errors }
  }
  if (refused === 'managed_by_order') {
    const errors = { sale_id: [`é do pedido ${details?.order_id}: estorne o pedido`] }
    return { message: 'A venda é de um pedido da loja online: estorne o pedido.', errors }
  }
  const { fields } = details as { fields: Record<string, string[]> }
  return { message: 'A devolução tem dados inválidos e não foi registrada.', errors: fields }
}

const MESSAGES: Readonly<Record<OfflineReturnWarning['code'], (found: string, expected: string) => string>> = {
  returned_more: (found, expected) => `Voltou mais do que restava do item: ${found} de ${expected}.`,
  refund_differs: (found, expected) => `O valor devolvido, ${found}, difere do devido, ${expected}.`,
  sale_cancelled: () => 'A venda está cancelada.',
  receivable_open: (found, expected) => `Da venda a prazo baixaram ${found}, e deveriam baixar ${expected}.`,
  credit_without_customer: (found) =>
    found === ''
      ? 'Há crédito de troca sem cliente: o crédito não foi registrado.'
      : `O cliente ${found} não existe mais: o crédito de troca não foi registrado.`,
  returned_at_in_future: (found) => `A data da devolução, ${found}, está no futuro: confira o relógio do caixa.`,
}

function shownWarning({ code, line, found, expected }: OfflineReturnWarning): object {
  return {
    code,
    message: MESSAGES[code](found ?? '', expected ?? ''),
    ...(line !== null && { line }),
    ...(found !== null && { found }),
    ...(expected !== null && { expected }),
  }
}

const countOf = (results: readonly ReturnResult[], status: ReturnResult['status']): number =>
  results.filter((result) => result.status === status).length

const summaryOf = (results: readonly ReturnResult[]) => {
  const error_count = countOf(results, 'error')
  return { total_processed: results.length, success_count: results.length - error_count, error_count }
}

function messageOf(results: readonly ReturnResult[]): string {
  const [created, duplicate, error] = (['created', 'duplicate', 'error'] as const).map((of) => countOf(results, of))
  const one = results.length === 1
  const parts = [`${created} registrada${created === 1 ? '' : 's'}`]
  if (duplicate) parts.push(`${duplicate} já enviada${duplicate === 1 ? '' : 's'} antes`)
  parts.push(`${error} com erro`)
  return `${results.length} ${one ? 'devolução processada' : 'devoluções processadas'}: ${parts.join(', ')}.`
}
