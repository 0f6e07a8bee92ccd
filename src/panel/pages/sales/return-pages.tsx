import * as z from 'zod'
import { NamedSession } from '#commands/cash/named-session.ts'
import { dueBack, moneyOf } from '#commands/sales/money-back.ts'
import { ReturnBody, returnGoods } from '#commands/sales/return-goods.ts'
import { returnableOf, sumCents, worthOf } from '#commands/sales/returned-goods.ts'
import { isMoney } from '#commands/sales/sale-refunds.ts'
import { formatMoney, formatQuantity } from '#domain/brazilian-format.ts'
import { fromCents, toCents } from '#domain/money.ts'
import { mayUpTo } from '#domain/permissions.ts'
import { fromThousandths, Quantity, toThousandths } from '#domain/quantity.ts'
import { invalid } from '#domain/refusal.ts'
import { boundedText, Id } from '#domain/text.ts'
import type { SaleObject } from '#projections/sales.ts'
import { getReturnable } from '#queries/sales/returns.ts'
import { getUsedOn } from '#queries/users.ts'
import { type Fields, formText } from '../../forms/form.ts'
import {
  amountInput,
  choicesInput,
  paragraphInput,
  quantityInput,
  recordChoiceInput,
  yesOrNoInput,
} from '../../forms/kinds.ts'
import type { FormSubmission, PageContext, PanelRoute } from '../../route.ts'
import { formPages } from '../../ui/form-pages.tsx'
import { drawerFields } from '../cash/session-field.ts'
import { SEARCHED_CUSTOMER } from '../finance/searched-customer.ts'
import { partyField } from '../party-field.ts'
import { paymentTypesOf } from '../payment-types.tsx'
import { saleOf } from './sale.tsx'

/** A chosen line: its position, and the quantity (thousandths) and stock in the second step. */
interface ChosenLine {
  readonly line: number
  readonly thousandths: number
  readonly restock: boolean
}

/** A sale with what was chosen in the steps before. */
interface Returning {
  readonly sale: SaleObject
  /** Of the delivery fee, in cents. */
  readonly returnedFee: number
  readonly chosen: readonly ChosenLine[]
  readonly withFee: boolean
  readonly due: ReturnType<typeof dueBack>
  /** What counts towards the user's limit beside it: of the sale, or of the user today, in cents. */
  readonly before: number
}

const [ITEMS, FEE] = ['itens', 'entrega'] as const

/** `0:1.000:s,2:0.500:n`: line, quantity, and whether it goes to stock. */
const CHOSEN = /^\d{1,3}:\d{1,9}\.\d{3}:[sn](,\d{1,3}:\d{1,9}\.\d{3}:[sn]){0,499}$/

const textOf = (lines: readonly ChosenLine[]): string =>
  lines
    .map(({ line, thousandths, restock }) => `${line}:${fromThousandths(thousandths)}:${restock ? 's' : 'n'}`)
    .join(',')

/** A choice of an earlier step: of a form as a hidden field. */
const choiceOf = (visit: PageContext | FormSubmission, name: string): string =>
  'form' in visit ? formText(visit.form, name) : (visit.query[name] ?? '')

async function returningOf(visit: PageContext): Promise<Returning | null> {
  const sale = await saleOf(visit)
  if (!sale) return null
  const { pool, companyId } = visit.readModel
  const row = await getReturnable(pool, companyId, sale.id)
  if (!row) return null
  const goods = returnableOf(row)
  const text = choiceOf(visit, ITEMS)
  const chosen = (CHOSEN.test(text) ? text.split(',') : []).flatMap((part) => {
    const [line = '', quantity = '', restock] = part.split(':')
    return sale.items[Number(line)]
      ? [{ line: Number(line), thousandths: toThousandths(quantity), restock: restock === 's' }]
      : []
  })
  const withFee = choiceOf(visit, FEE) === 's'
  const fee = withFee ? goods.delivery_fee - goods.returned_fee : 0
  const due = dueBack(moneyOf(row, row.accounts), sumCents(worthOf(goods, chosen)) + fee)
  const today = await getUsedOn(
    pool,
    { companyId, userId: visit.session.userId },
    'return_goods',
    visit.readModel.today,
  )
  const before = Math.max(toCents(sale.returned_total), today)
  return { sale, returnedFee: goods.returned_fee, chosen, withFee, due, before }
}

const leftOf = ({ quantity, returned }: SaleObject['items'][number]): number =>
  toThousandths(quantity) - toThousandths(returned)

/** Why goods of a sale cannot come back; null if they can. */
function obstacle({ sale }: Returning): string | null {
  if (sale.order_id !== null)
    return `Esta venda é do pedido ${sale.order_id} da loja online: estorne o pagamento na página do pedido.`
  if (sale.status === 'cancelled') return 'A venda está cancelada: não há o que devolver.'
  return sale.items.some((item) => leftOf(item) > 0) ? null : 'Tudo o que foi vendido já voltou.'
}

/** `returnGoods` needs `return_goods`, which another user may lend in the last step (ROLE-120). */
const common = { section: 'sales', access: 'sell', subject: returningOf, obstacle } as const
const pathOf = ({ sale }: Returning, step = ''): string => `/vendas/${sale.id}/devolver${step}`

const back = ({ sale }: Returning): string => `/vendas/${sale.id}`

const whatPages = formPages({
  ...common,
  path: '/vendas/:id/devolver',
  title: ({ sale }) => `Devolver mercadoria da venda ${sale.id}: itens`,
  label: 'Continuar',
  back,
  fields: ({ sale }): Fields => ({
    linhas: {
      label: 'Itens que voltaram',
      kind: choicesInput(
        sale.items.flatMap((item, line) =>
          leftOf(item) > 0
            ? [{ value: String(line), label: `${item.description} (${formatQuantity(fromThousandths(leftOf(item)))})` }]
            : [],
        ),
      ),
      columns: 12,
    },
  }),
  initial: ({ sale }) => ({ linhas: sale.items.flatMap((item, line) => (leftOf(item) > 0 ? [String(line)] : [])) }),
  schema: z.strictObject({
    linhas: z.array(z.coerce.number().int().min(0).max(499)).min(1, 'escolha ao menos um item'),
  }),
  async act(_submission, returning, { linhas }) {
    const lines = linhas.flatMap((line) => {
      const item = returning.sale.items[line]
      return item && leftOf(item) > 0 ? [{ line, thousandths: leftOf(item), restock: true }] : []
    })
    if (lines.length === 0) return invalid('linhas', 'escolha ao menos um item')
    return { to: pathOf(returning, '/quantidades'), parameters: { [ITEMS]: textOf(lines) } }
  },
})

const HowMuch = z.record(z.string(), z.unknown())

const howMuchPages = formPages({
  ...common,
  path: '/vendas/:id/devolver/quantidades',
  title: ({ sale }) => `Devolver mercadoria da venda ${sale.id}: quantidades`,
  label: 'Continuar',
  back: pathOf,
  intro: (returning) => <input type="hidden" name={ITEMS} value={textOf(returning.chosen)} />,
  fields: ({ sale, chosen, returnedFee }): Fields => ({
    ...Object.fromEntries(
      chosen.flatMap(({ line }) => {
        const item = sale.items[line]
        if (!item) return []
        const left = formatQuantity(fromThousandths(leftOf(item)))
        return [
          [
            `q${line}`,
            { label: item.description, kind: quantityInput, isRequired: true, columns: 8, hint: `Até ${left}.` },
          ],
          [`e${line}`, { label: `Volta ao estoque: ${item.description}`, kind: yesOrNoInput, columns: 4 }],
        ] as const
      }),
    ),
    ...(toCents(sale.delivery_fee) > returnedFee && {
      fee: { label: `Devolver a entrega, ${formatMoney(sale.delivery_fee)}`, kind: yesOrNoInput, columns: 12 },
    }),
  }),
  initial: ({ chosen }) =>
    Object.fromEntries(
      chosen.flatMap(({ line, thousandths, restock }) => [
        [`q${line}`, fromThousandths(thousandths)],
        [`e${line}`, restock],
      ]),
    ),
  schema: HowMuch,
  async act(_submission, returning, input) {
    const lines: ChosenLine[] = []
    for (const { line } of returning.chosen) {
      const item = returning.sale.items[line]
      const parsed = Quantity.safeParse(input[`q${line}`])
      if (!parsed.success) return invalid(`q${line}`, parsed.error.issues[0]?.message ?? 'é inválida')
      const thousandths = toThousandths(parsed.data)
      if (item && thousandths > leftOf(item))
        return invalid(`q${line}`, `resta devolver ${formatQuantity(fromThousandths(leftOf(item)))}`)
      lines.push({ line, thousandths, restock: input[`e${line}`] === true })
    }
    if (lines.length === 0) return { to: pathOf(returning) }
    const parameters = { [ITEMS]: textOf(lines), [FEE]: input.fee === true ? 's' : 'n' }
    return { to: pathOf(returning, '/forma'), parameters }
  },
})

const REFUND_KINDS = ['cash', 'transfer', 'pix', 'exchange_credit'] as const

/** Ways in which the return may be given back. */
async function waysOf({ sale }: Returning, visit: PageContext) {
  const types = await paymentTypesOf(visit)
  const ofSale = new Set(sale.payments.map(({ payment_type_id }) => payment_type_id))
  return types
    .filter(
      (type) =>
        (ofSale.has(type.id) && (isMoney(type) || type.kind === 'credit_account')) ||
        REFUND_KINDS.some((each) => each === type.kind),
    )
    .map(({ id, name }) => ({ value: String(id), label: name }))
}

const How = z.strictObject({
  reason: boundedText(500),
  payment_type_id: Id.nullish(),
  other_type_id: Id.nullish(),
  other_amount: z.string().nullish(),
  customer_id: Id.nullish(),
  cash_session_id: NamedSession,
})

const howPages = formPages({
  ...common,
  path: '/vendas/:id/devolver/forma',
  title: ({ sale }) => `Devolver mercadoria da venda ${sale.id}: pagamento`,
  label: 'Registrar a devolução',
  back: (returning) => pathOf(returning),
  needsApproval: ({ due, before }, { session }) => !mayUpTo(session.permissions, 'return_goods', due.total + before),
  intro: ({ chosen, withFee, due }) => (
    <>
      <input type="hidden" name={ITEMS} value={textOf(chosen)} />
      <input type="hidden" name={FEE} value={withFee ? 's' : 'n'} />
      <p>
        A devolver: <strong>{formatMoney(fromCents(due.total))}</strong>.{' '}
        {due.total === 0 && 'Nada foi recebido por estes itens: só a mercadoria volta. '}
        Esta ação não pode ser desfeita.
      </p>
    </>
  ),
  async fields(returning, visit): Promise<Fields> {
    const ways = await waysOf(returning, visit)
    const isDue = returning.chosen.length === 0 || returning.due.total > 0
    return {
      ...(isDue && {
        payment_type_id: { label: 'Forma', kind: recordChoiceInput(ways, 'Escolha'), columns: 6 },
        other_type_id: { label: 'Outra forma', kind: recordChoiceInput(ways, 'Nenhuma'), columns: 3 },
        other_amount: { label: 'Valor na outra forma', kind: amountInput, columns: 3 },
        customer_id: {
          ...(await partyField(visit, SEARCHED_CUSTOMER, { path: pathOf(returning, '/forma') })),
          label: 'Cliente do crédito de troca',
          hint: 'Procure pelo nome, CPF, CNPJ ou telefone. Se vazio, o crédito é do cliente da venda.',
        },
        ...(await drawerFields(visit, null)),
      }),
      reason: { label: 'Motivo', kind: paragraphInput, isRequired: true, columns: 12 },
    }
  },
  schema: How,
  async act(submission, returning, input) {
    const { reason, payment_type_id, other_type_id, other_amount, customer_id, cash_session_id } = input
    const { sale, chosen, withFee, due } = returning
    if (chosen.length === 0) return { to: pathOf(returning) }
    const part = z.safeParse(ReturnBody.shape.refunds, [{ payment_type_id: 1, amount: other_amount ?? '0.01' }])
    if (!part.success) return invalid('other_amount', part.error.issues[0]?.message ?? 'é inválido')
    const other = other_type_id && other_amount ? toCents(other_amount) : 0
    if (other > due.total) return invalid('other_amount', `não pode passar de ${fromCents(due.total)}`)
    const refunds = [
      ...(payment_type_id && due.total > other ? [{ payment_type_id, amount: fromCents(due.total - other) }] : []),
      ...(other_type_id && other > 0 ? [{ payment_type_id: other_type_id, amount: fromCents(other) }] : []),
    ]
    const items = chosen.map(({ line, thousandths, restock }) => ({
      line,
      restock,
      quantity: fromThousandths(thousandths),
    }))
    const of = { id: sale.id, reason, cash_session_id, customer_id: customer_id ?? null }
    const answer = await submission.run(returnGoods, { ...of, items, refunds, delivery_fee: withFee })
    if ('refused' in answer) return answer
    return { to: `/vendas/${sale.id}`, flash: 'devolvida' as const }
  },
  problem: ({ refused, details }) =>
    refused === 'payment_mismatch'
      ? `As formas devem somar ${formatMoney(String(details?.due))}${details?.on_credit ? `, e o que ainda se deve desta venda baixa primeiro: ${formatMoney(String(details.on_credit))} na forma a prazo` : ''}.`
      : undefined,
})

/** Goods that come back, in three steps: what, how much, and how their price is given back (PANEL-580). */
export const returnPages: readonly PanelRoute[] = [...whatPages, ...howMuchPages, ...howPages]
