import * as z from 'zod'
import { NamedSession } from '#commands/named-drawers.ts'
import { ReturnBody, returnGoods, toVoucherCode } from '#commands/return-goods.ts'
import {
  dueBack,
  isMoney,
  type ReturnableSale,
  type ReturnLine,
  shareWorth,
  sumCents,
  sumKeptWorth,
  toReturnableSale,
  toSaleMoney,
} from '#commands/returned-goods.ts'
import { fromCents, fromThousandths, StockQuantity, toCents, toThousandths } from '#domain/money.ts'
import { formatMoney, formatUnits } from '#domain/person-values.ts'
import { refuseField } from '#domain/refusals.ts'
import { mayUpTo } from '#domain/rights.ts'
import { boundedText, Id } from '#domain/text.ts'
import { isRefusal } from '#ledger/command.ts'
import type { ReturnObject } from '#projections/returns.ts'
import type { SaleObject } from '#projections/sales.ts'
import { getUsedOn } from '#queries/company-queries.ts'
import { findUnits, unitIn } from '#queries/item-queries.ts'
import { getReturnable } from '#queries/return-queries.ts'
import { amountInput, paragraphInput, quantityInput, recordChoiceInput, yesOrNoInput } from '../forms/input-kinds.ts'
import { type Fields, type FormBody, formText } from '../forms/panel-form.ts'
import type { FormSubmission, PageContext, PanelRoute } from '../panel-route.ts'
import { formPages } from '../ui/form-pages.tsx'
import { SEARCHED_CUSTOMER } from './debtor-pages.tsx'
import { drawerFields, GIVING_DRAWER } from './payment-form.tsx'
import { loadPaymentTypes } from './payment-type-pages.tsx'
import { partyField } from './person-form.tsx'
import { loadSale } from './sale-page.tsx'
import { VOUCHER_PATH } from './voucher-pages.tsx'

/** A line of which something is left, as its field in the form. */
interface OfferedLine {
  readonly line: number
  readonly item: SaleObject['items'][number]
  readonly left: number
  readonly unit: string | undefined
}

/** A sale with what the form says of it, so far. */
interface Returning {
  readonly sale: SaleObject
  readonly goods: ReturnableSale
  readonly offered: readonly OfferedLine[]
  readonly chosen: readonly ReturnLine[]
  /** Why a quantity cannot be read. */
  readonly problem: { readonly field: string; readonly message: string } | null
  readonly withFee: boolean
  readonly due: ReturnType<typeof dueBack>
  /** Most that can be due, in cents: what is owed and what was received. */
  readonly most: number
  /** What counts towards the user's limit beside it: of the sale, or of the user today, in cents. */
  readonly before: number
}

/** Longest quantity that is read. */
const MAX_TYPED = 30

/** Nothing typed is nothing returned; a text is why it cannot be. */
function quantityOf(typed: string, { left, unit }: OfferedLine): number | string {
  if (typed === '') return 0
  if (typed.length > MAX_TYPED) return 'é longo demais'
  const wrong = quantityInput.problem?.(typed)
  if (wrong) return wrong
  const parsed = StockQuantity.safeParse(quantityInput.read(typed, ''))
  const thousandths = parsed.success ? toThousandths(parsed.data) : -1
  if (thousandths < 0) return 'é inválida'
  return thousandths > left ? `resta devolver ${formatUnits(fromThousandths(left), unit)}` : thousandths
}

const isTicked = (form: FormBody, name: string): boolean => formText(form, name) === 'on'

function typedLines(form: FormBody, offered: readonly OfferedLine[]): Pick<Returning, 'chosen' | 'problem'> {
  const chosen: ReturnLine[] = []
  let problem: Returning['problem'] = null
  for (const one of offered) {
    const { line } = one
    const quantity = quantityOf(formText(form, `q${line}`).trim(), one)
    if (typeof quantity === 'string') problem ??= { field: `q${line}`, message: quantity }
    else if (quantity > 0) chosen.push({ line, thousandths: quantity, restock: !isTicked(form, `n${line}`) })
  }
  return { chosen, problem }
}

async function returningOf(visit: PageContext | FormSubmission): Promise<Returning | null> {
  const sale = await loadSale(visit)
  if (!sale) return null
  const { reader, today } = visit.readModel
  const row = await getReturnable(reader, sale.id)
  if (!row) return null
  const goods = toReturnableSale(row)
  const units = await findUnits(reader, sale.items)
  const offered = sale.items.flatMap((item, line) => {
    const left = toThousandths(item.quantity) - toThousandths(item.returned)
    return left > 0 ? [{ line, item, left, unit: unitIn(units, item) }] : []
  })
  const form = 'form' in visit ? visit.form : {}
  const typed = typedLines(form, offered)
  const withFee = isTicked(form, 'fee')
  const money = toSaleMoney(row, row.accounts)
  const due = dueBack(money, sumCents(shareWorth(goods, typed.chosen)) + (withFee ? feeOf(goods) : 0))
  const used = await getUsedOn(reader, visit.session.userId, 'return_goods', today)
  return {
    ...{ sale, goods, offered, ...typed, withFee, due },
    most: dueBack(money, sumKeptWorth(goods)).total,
    before: Math.max(toCents(sale.returned_total), used),
  }
}

const feeOf = ({ delivery_fee, returned_fee }: ReturnableSale): number => delivery_fee - returned_fee

/** Why goods of a sale cannot come back; null if they can. */
function obstacle({ sale, offered }: Returning): string | null {
  if (sale.order_id !== null)
    return `Esta venda é do pedido ${sale.order_id} da loja online: estorne o pagamento na página do pedido.`
  if (sale.status === 'cancelled') return 'A venda está cancelada: não há o que devolver.'
  return offered.length > 0 ? null : 'Tudo o que foi vendido já voltou.'
}

const pathOf = ({ sale }: Returning): string => `/vendas/${sale.id}/devolver`

/** Quantity of each line, empty at first: its price stands below it. */
const lineFields = ({ goods, offered }: Returning): Fields => ({
  ...Object.fromEntries(
    offered.flatMap(({ line, item, left, unit }, place) => {
      const worth = sumCents(shareWorth(goods, [{ line, thousandths: left, restock: true }]))
      const hint = `Vendido a ${formatMoney(item.unit_price)}. Até ${formatUnits(fromThousandths(left), unit)}, que valem ${formatMoney(fromCents(worth))}.`
      const group = place === 0 && { group: 'O que voltou' }
      const out = { label: `Não volta ao estoque: ${item.description}`, kind: yesOrNoInput, columns: 4 } as const
      return [
        [`q${line}`, { label: item.description, kind: quantityInput, columns: 8, hint, ...group }] as const,
        ...(goods.lines[line]?.moves_stock ? [[`n${line}`, out] as const] : []),
      ]
    }),
  ),
  ...(feeOf(goods) > 0 && {
    fee: { label: `Devolver a entrega, ${formatMoney(fromCents(feeOf(goods)))}`, kind: yesOrNoInput, columns: 12 },
  }),
})

/** Pressed to sum what was typed, where no script does. */
const SUM = 'calcular'

/** What the script sums the same way: cents and thousandths sold, and those that came back before. */
const summed = ({ goods, offered, most }: Returning): string =>
  JSON.stringify({
    lines: offered.map(({ line }) => ({
      ...{ name: `q${line}`, sold: goods.lines[line]?.sold, returned: goods.lines[line]?.returned },
    })),
    fee: feeOf(goods),
    most,
  })

/** The running total. */
const Total = ({ returning, returning: { sale, offered, due, most, problem } }: { readonly returning: Returning }) => (
  <div class="actions" data-return={summed(returning)}>
    <p>
      A devolver: <strong data-return-total>{formatMoney(fromCents(due.total))}</strong>.{' '}
      {most === 0 && 'Nada foi recebido por estes itens: só a mercadoria volta. '}
      {due.on_credit > 0 && `${formatMoney(fromCents(due.on_credit))} baixam o que ainda se deve, na forma a prazo. `}
      {problem &&
        `Confira ${offered.find(({ line }) => problem.field === `q${line}`)?.item.description}: ${problem.message}. `}
      {`Esta ação não pode ser desfeita: a venda ${sale.id} fica com a devolução.`}
    </p>
    <button type="submit" name={SUM} value="s">
      Calcular o total
    </button>
  </div>
)

const REFUND_KINDS = ['cash', 'transfer', 'pix', 'exchange_credit'] as const

/** Ways in which the return may be given back. */
async function waysOf({ sale }: Returning, visit: PageContext) {
  const types = await loadPaymentTypes(visit)
  const ofSale = new Set(sale.payments.map(({ payment_type_id }) => payment_type_id))
  return types
    .filter(
      (type) =>
        (ofSale.has(type.id) && (isMoney(type) || type.kind === 'credit_account')) ||
        REFUND_KINDS.some((each) => each === type.kind),
    )
    .map(({ id, name }) => ({ value: String(id), label: name }))
}

const How = z.object({
  reason: boundedText(500),
  payment_type_id: Id.nullish(),
  other_type_id: Id.nullish(),
  other_amount: z.string().nullish(),
  customer_id: Id.nullish(),
  voucher: z.boolean().nullish(),
  cash_session_id: NamedSession,
})

/** Ways of giving back what is due; none where nothing can be. */
async function wayFields(returning: Returning, visit: PageContext): Promise<Fields> {
  if (returning.most === 0) return {}
  const ways = await waysOf(returning, visit)
  return {
    payment_type_id: {
      ...{ label: 'Forma', kind: recordChoiceInput(ways, 'Escolha'), columns: 6, group: 'Como o dinheiro volta' },
    },
    other_type_id: { label: 'Outra forma', kind: recordChoiceInput(ways, 'Nenhuma'), columns: 3 },
    other_amount: { label: 'Valor na outra forma', kind: amountInput, columns: 3 },
    customer_id: {
      ...(await partyField(visit, SEARCHED_CUSTOMER, { path: pathOf(returning) })),
      label: 'Cliente do crédito de troca',
      hint: 'Procure pelo nome, CPF, CNPJ ou telefone. Se vazio, o crédito é do cliente da venda.',
    },
    voucher: {
      ...{ label: 'Crédito em um vale-troca, em vez de um cliente', kind: yesOrNoInput, columns: 12 },
      hint: 'O vale aparece depois, para imprimir: vale para quem o tem.',
    },
    ...(await drawerFields(visit, { label: GIVING_DRAWER })),
  }
}

/** The first way gives what the other one does not, so that no more than is due goes back. */
function refundsOf({ due }: Returning, { payment_type_id, other_type_id, other_amount }: z.infer<typeof How>) {
  const part = z.safeParse(ReturnBody.shape.refunds, [{ payment_type_id: 1, amount: other_amount ?? '0.01' }])
  if (!part.success) return refuseField('other_amount', part.error.issues[0]?.message ?? 'é inválido')
  const other = other_type_id && other_amount ? toCents(other_amount) : 0
  if (other > due.total) return refuseField('other_amount', `não pode passar de ${formatMoney(fromCents(due.total))}`)
  return [
    ...(payment_type_id && due.total > other ? [{ payment_type_id, amount: fromCents(due.total - other) }] : []),
    ...(other_type_id && other > 0 ? [{ payment_type_id: other_type_id, amount: fromCents(other) }] : []),
  ]
}

const pages = formPages({
  section: 'sales',
  /** `returnGoods` needs `return_goods`, which another user may lend here (ROLE-120). */
  access: 'sell',
  subject: returningOf,
  obstacle,
  path: '/vendas/:id/devolver',
  title: ({ sale }) => `Devolver mercadoria da venda ${sale.id}`,
  label: 'Registrar a devolução',
  back: ({ sale }) => `/vendas/${sale.id}`,
  needsApproval: ({ due, before }, { session }) => !mayUpTo(session.permissions, 'return_goods', due.total + before),
  async fields(returning, visit): Promise<Fields> {
    return {
      ...lineFields(returning),
      ...(await wayFields(returning, visit)),
      reason: { label: 'Motivo', kind: paragraphInput, isRequired: true, columns: 12 },
    }
  },
  summary: (returning) => <Total returning={returning} />,
  schema: How,
  async act(submission, returning, input) {
    const { sale, offered, chosen, problem, withFee } = returning
    if (problem) return refuseField(problem.field, problem.message)
    if (chosen.length === 0) return refuseField(`q${offered[0]?.line ?? 0}`, 'informe a quantidade de ao menos um item')
    const refunds = refundsOf(returning, input)
    if (isRefusal(refunds)) return refunds
    const items = chosen.map(({ line, thousandths, restock }) => ({
      ...{ line, restock, quantity: fromThousandths(thousandths) },
    }))
    const { reason, cash_session_id, customer_id, voucher } = input
    const voucher_code = toVoucherCode(submission.context.environment.newSecret())
    const of = { id: sale.id, reason, cash_session_id, customer_id: customer_id ?? null, voucher, voucher_code }
    const answer = await submission.run(returnGoods, { ...of, items, refunds, delivery_fee: withFee })
    if (isRefusal(answer)) return answer
    const { refunds: given } = answer.record as ReturnObject
    const code = given.find((refund) => refund.voucher !== undefined)?.voucher
    const to = code === undefined ? { to: `/vendas/${sale.id}` } : { to: VOUCHER_PATH, parameters: { codigo: code } }
    return { ...to, flash: 'devolvida' as const }
  },
  problem: ({ refused, details }) =>
    refused === 'payment_mismatch'
      ? `As formas devem somar ${formatMoney(String(details?.due))}${details?.on_credit ? `, e o que ainda se deve desta venda baixa primeiro: ${formatMoney(String(details.on_credit))} na forma a prazo` : ''}.`
      : undefined,
})

/** Goods that come back, on one page: what, how much, and how their price is given back. */
export const returnPages: readonly PanelRoute[] = pages.map((page) =>
  'submit' in page && page.refill
    ? {
        ...page,
        submit: (sent: FormSubmission) =>
          formText(sent.form, SUM) !== '' && page.refill ? page.refill(sent) : page.submit(sent),
      }
    : page,
)
