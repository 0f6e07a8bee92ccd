import * as z from 'zod'
import { AccountsPayment, MAX_ACCOUNTS } from '#commands/pay-accounts.ts'
import { Money, toCents } from '#domain/money.ts'
import { PAYMENT_METHOD_NAMES, PAYMENT_METHODS } from '#domain/payment-rules.ts'
import { formatMoney } from '#domain/person-values.ts'
import { type Refusal, refuseField } from '#domain/refusals.ts'
import { may } from '#domain/rights.ts'
import { Id, limitedText, searchKey } from '#domain/text.ts'
import type { PaymentTypeObject } from '#projections/stores.ts'
import { type DrawerChoice, listOpenDrawers } from '#queries/cash-queries.ts'
import { amountInput, choiceInput, momentInput, type Option } from '../forms/input-kinds.ts'
import { type Field, type Fields, type FormBody, formText } from '../forms/panel-form.ts'
import type { FormSubmission, PageContext } from '../panel-route.ts'
import { loadPaymentTypes } from './payment-type-pages.tsx'

interface DrawerQuestion extends Pick<Field, 'label' | 'of'> {
  /** Session that the money came into, which gives it back if it is still open. */
  readonly own?: string | null
  /** Whether no other one may give it back. */
  readonly isFixed?: boolean
}

export const GIVING_DRAWER = 'De onde sai o dinheiro'

const OUTSIDE = 'Fora das gavetas'

/** Where the money goes if the person names no drawer. */
function defaultLabel(visit: PageContext, own: string | null, kept: DrawerChoice | undefined): string {
  if (kept) return `${kept.name}, que o recebeu`
  return own === null || may(visit.session.permissions, 'see_all_sales')
    ? OUTSIDE
    : 'A gaveta que o recebeu, se ainda estiver aberta'
}

/** Choice of the open drawer that cash goes into or comes out of; chosen at first is the own one. */
export async function drawerFields(
  visit: PageContext,
  { label, of, own = null, isFixed }: DrawerQuestion,
): Promise<Fields> {
  const { readModel, session } = visit
  const open = await listOpenDrawers(readModel.reader, readModel.timezone)
  const kept = open.find(({ session_id }) => session_id === own)
  const offered = kept && isFixed ? [] : open.filter((drawer) => drawer !== kept)
  const mine = kept ? undefined : offered.find(({ owner }) => owner === session.userId)
  const options = offered.map(({ session_id, name }) => ({ value: session_id, label: name }))
  const kind = choiceInput(options, defaultLabel(visit, own, kept))
  return {
    cash_session_id: {
      ...{ label, columns: 6 },
      kind: { ...kind, show: (value, timezone) => kind.show(value ?? mine?.session_id, timezone) },
      hint: open.length === 0 ? 'Nenhuma gaveta aberta.' : 'Vale só para dinheiro.',
      ...(of && { of }),
    },
  }
}

/** Member of an input: the id of what it moves in a drawer. */
export const newMovement = ({ context: { environment } }: FormSubmission) => ({ movement_id: environment.newId() })

/** Words of receiving or paying. */
export interface PaymentWords {
  /** `Receber` */
  readonly act: string
  /** `Valor recebido (R$)` */
  readonly sum: string
  /** `Recebida` */
  readonly done: string
  /** Question for the drawer that cash goes into or comes out of. */
  readonly drawer: string
}

/** Documented method of a way of paying, else its name. Cash has one code, by which the day's cash is summed. */
function methodOf({ name, is_cash }: PaymentTypeObject): string {
  if (is_cash) return 'cash'
  return PAYMENT_METHODS.find((method) => searchKey(PAYMENT_METHOD_NAMES[method]) === searchKey(name)) ?? name
}

/** The company's own ways of paying, then the documented ones that none of them is. */
async function methodOptions(visit: PageContext): Promise<Option[]> {
  const types = (await loadPaymentTypes(visit)).filter(({ accepts_api }) => accepts_api)
  const own = types.map((type) => ({ value: methodOf(type), label: type.name }))
  const others = PAYMENT_METHODS.map((method) => ({ value: method, label: PAYMENT_METHOD_NAMES[method] }))
  const all: Option[] = [...own, ...others]
  return all.filter(({ value }, place) => all.findIndex((option) => option.value === value) === place)
}

const FOLD = 'Juros, multa e desconto'
const extra = (label: string) => ({ label, kind: amountInput, columns: 4, fold: FOLD }) as const

/** Fields of a payment of accounts. */
export async function paymentFields(visit: PageContext, { sum, drawer }: PaymentWords, hint: string): Promise<Fields> {
  const methods = await methodOptions(visit)
  const isOffered = (typed: string) => methods.some(({ value }) => value === typed)
  return {
    received: { label: sum, kind: amountInput, columns: 4, hint },
    payment_method: {
      label: 'Forma de pagamento',
      kind: {
        ...choiceInput(methods, 'Escolha…'),
        problem: (typed) => (isOffered(typed) ? null : 'escolha uma das formas da lista'),
      },
      isRequired: true,
      columns: 4,
    },
    ...(await drawerFields(visit, { label: drawer, of: 'cash' })),
    paid_at: { label: 'Data e hora', kind: momentInput, columns: 4, hint: 'Se vazio, usa a hora atual.' },
    interest: extra('Juros (R$)'),
    fine: extra('Multa (R$)'),
    discount: extra('Desconto (R$)'),
  }
}

/** Input of the fields; the accounts come beside them. */
export const PaymentForm = AccountsPayment.omit({ accounts: true, movement_id: true })

/** Hidden field with the shown accounts, separated by commas. */
const SHOWN = 'shown'

/** An account with the open amount that the page shows: `9:40.00`. */
export const formatAccountToken = ({
  id,
  open_amount,
}: {
  readonly id: number
  readonly open_amount: string
}): string => `${id}:${open_amount}`

export const ShownAccount = limitedText(60)
  .transform((text) => {
    const [id, open_amount] = text.split(':')
    return { id: Number(id), open_amount }
  })
  .pipe(z.strictObject({ id: Id, open_amount: Money }))
export type ShownAccount = z.infer<typeof ShownAccount>

const ShownAccounts = z.array(ShownAccount).min(1).max(MAX_ACCOUNTS)

/** The accounts that the submitted page showed. */
export function parseAccountTokens(form: FormBody): ShownAccount[] | Refusal {
  const accounts = ShownAccounts.safeParse(formText(form, SHOWN).split(','))
  return accounts.success ? accounts.data : refuseField('accounts', 'abra a página de novo e repita')
}

interface ShownProps {
  readonly accounts: readonly { readonly id: number; readonly open_amount: string }[]
  readonly words: PaymentWords
  /** Whether accounts are chosen by ticks. */
  readonly isChoice?: boolean
}

/** Hidden fields of the shown accounts; scripts keep the sum in the button. */
export const ShownFields = ({ accounts, words, isChoice }: ShownProps) => (
  <>
    <input type="hidden" name={SHOWN} value={accounts.map(formatAccountToken).join(',')} />
    <span
      hidden
      data-payment={words.act}
      data-open={isChoice ? undefined : accounts.reduce((sum, { open_amount }) => sum + toCents(open_amount), 0)}
    />
  </>
)

/** Label of the button before anything is typed. */
export const payLabel = ({ act }: PaymentWords, openAmount: string): string => `${act} ${formatMoney(openAmount)}`
