import * as z from 'zod'
import { ChargeReceivableInput, chargeReceivable } from '#commands/order-charge.ts'
import { type AccountsPayment, MAX_ACCOUNTS } from '#commands/pay-accounts.ts'
import { payPayables, payReceivables } from '#commands/receivables-payables.ts'
import { inZone } from '#domain/instant.ts'
import { fromCents, toCents } from '#domain/money.ts'
import { formatCount, formatDay, formatMoney, formatPersonName } from '#domain/person-values.ts'
import { type Refusal, refuseField } from '#domain/refusals.ts'
import { type Command, isRefusal } from '#ledger/command.ts'
import type { CustomerOfReceivable } from '#projections/finance.ts'
import { getAccount, receivableListing } from '#queries/account-queries.ts'
import { listStores } from '#queries/company-queries.ts'
import { type OpenAccount, openBalanceOfParty, type PartyBalance } from '#queries/open-balances.ts'
import { getCustomerOrDebtor, getSupplierOrCreditor } from '#queries/person-queries.ts'
import type { FoundRecords } from '#queries/record-queries.ts'
import { choiceInput, lineInput, type Option, phoneInput, rowsInput } from '../forms/input-kinds.ts'
import type { Fields } from '../forms/panel-form.ts'
import { link } from '../page-context.ts'
import type { PageContext, PanelRoute, Section } from '../panel-route.ts'
import { formPages, offersApproval } from '../ui/form-pages.tsx'
import { Card, Facts, Stat, Stats } from '../ui/page-parts.tsx'
import { loadRecord, type RecordPages } from '../ui/record-pages.tsx'
import type { Account } from './account-parts.tsx'
import { accountCount, type BalancePageSide, PAYABLE, RECEIVABLE, tickName } from './debtor-pages.tsx'
import { ORDERS_PATH } from './order-lists.tsx'
import {
  formatAccountToken,
  newMovement,
  PaymentForm,
  type PaymentWords,
  parseAccountTokens,
  payLabel,
  paymentFields,
  ShownAccount,
  ShownFields,
} from './payment-form.tsx'
import { receiptPath } from './payment-pages.tsx'

interface Charge {
  readonly account: Account<CustomerOfReceivable>
  /** Aliases of the stores that take payments. */
  readonly stores: readonly string[]
}

const MAX_STORES = 200

async function chargeOf(visit: PageContext): Promise<Charge | null> {
  const { reader, today } = visit.readModel
  const account = await loadRecord<Account<CustomerOfReceivable>>(visit, (_visit, id) =>
    getAccount(reader, receivableListing, id, today),
  )
  if (!account) return null
  const stores = (await listStores(reader, MAX_STORES)).filter(({ enabled }) => enabled)
  return { account, stores: stores.map(({ alias }) => alias) }
}

function obstacleOf({ account, stores }: Charge): string | null {
  if (account.status === 'settled') return 'A conta já está recebida.'
  return stores.length === 0 ? 'Nenhuma loja ligada: crie ou ligue uma em Loja online.' : null
}

/** *Cobrar*: a payment link over what is open of a receivable. */
export const chargePages: readonly PanelRoute[] = formPages({
  path: '/contas-a-receber/:id/cobrar',
  section: 'receivables',
  access: 'receive',
  subject: chargeOf,
  obstacle: obstacleOf,
  title: ({ account }) => `Cobrar ${account.description}`,
  intro: ({ account }) => (
    <p>
      O link cobra <strong>{formatMoney(account.open_amount)}</strong>, o que está em aberto, e baixa a conta quando for
      pago. <a href={link('/loja', { receivable_id: account.id })}>Ver os links já criados desta conta</a>
    </p>
  ),
  label: 'Criar link de cobrança',
  back: ({ account }) => `/contas-a-receber/${account.id}`,
  fields: ({ account, stores }) => ({
    ...(account.customer_name === null && {
      name: { label: 'Nome de quem paga', kind: lineInput, isRequired: true, columns: 6 },
    }),
    phone: {
      label: 'Telefone (WhatsApp)',
      kind: phoneInput,
      columns: 6,
      hint: 'Se vazio, o do cadastro do cliente.',
    },
    ...(stores.length > 1 && {
      store_alias: {
        label: 'Loja',
        kind: choiceInput(stores.map((alias) => ({ value: alias, label: alias }))),
        isRequired: true,
        columns: 6,
      },
    }),
  }),
  schema: ChargeReceivableInput.omit({ id: true }).partial({ store_alias: true }),
  async act(submission, { account, stores }, input) {
    const { store_alias = stores[0] ?? '', ...rest } = input
    const answer = await submission.run(chargeReceivable, { ...rest, id: account.id, store_alias })
    if (isRefusal(answer)) return answer
    return { to: `${ORDERS_PATH}/${(answer.record as { id: number }).id}`, flash: 'pedido-criado' as const }
  },
})

/** State, amounts, due date and party. */
const SHOWN_FACTS = 6

/** Receives or pays an account, whole or in part. */
export const settlementPages = <P,>(
  { path, section, get, facts }: RecordPages<Account<P>>,
  command: Command<AccountsPayment>,
  words: PaymentWords,
): PanelRoute[] =>
  formPages({
    path: `${path}/:id/liquidar`,
    section,
    access: section === 'payables' ? 'settle' : 'receive',
    subject: (visit) => loadRecord<Account<P>>(visit, get),
    title: ({ description }) => `${words.act} ${description}`,
    before: async (account, visit) => (
      <Card title="Conta">
        <Facts facts={(await facts(account, visit)).slice(0, SHOWN_FACTS)} />
      </Card>
    ),
    intro: (account) => <ShownFields accounts={[account]} words={words} />,
    label: ({ open_amount }) => payLabel(words, open_amount),
    back: ({ id }) => `${path}/${id}`,
    fields: (_, visit) => paymentFields(visit, words, 'Deixe em branco para tudo o que está em aberto.'),
    initial: (_, { session, readModel }) => ({ paid_at: inZone(session.companysTime, readModel.timezone) }),
    schema: PaymentForm,
    needsApproval: (_, visit) => section === 'receivables' && offersApproval(visit, 'give_discount'),
    problem: changed,
    async act(submission, { id }, input) {
      const accounts = parseAccountTokens(submission.form)
      if (isRefusal(accounts)) return accounts
      const answer = await submission.run(command, {
        ...input,
        ...newMovement(submission),
        accounts: accounts.filter((each) => each.id === id),
      })
      if (isRefusal(answer)) return answer
      const { status } = answer.record as Account<P>
      return { to: `${path}/${id}`, flash: status === 'settled' ? 'liquidada' : 'paga-em-parte' }
    },
  })

/** The open amount is not typed, so a mismatch means that the account has changed. */
function changed({ details }: Refusal): string | undefined {
  const isAccount = 'accounts' in ((details?.fields ?? {}) as Record<string, unknown>)
  return isAccount ? 'O valor da conta mudou desde que esta página foi aberta: confira e repita.' : undefined
}

/** A party with its open accounts. */
interface Debt {
  readonly id: number
  readonly name: string | null
  readonly owed: PartyBalance
}

const Several = PaymentForm.extend({ accounts: z.array(ShownAccount).max(MAX_ACCOUNTS) })

/** Each account with the sum up to it, as the oldest are paid first. */
function toRows(accounts: readonly OpenAccount[]): Option[] {
  let sum = 0
  return accounts.map((account) => {
    sum += toCents(account.open_amount)
    const cells = [formatDay(account.due_date), formatMoney(account.open_amount), formatMoney(fromCents(sum))]
    return { value: formatAccountToken(account), label: account.description, cells }
  })
}

const fieldsOf = async ({ of }: PayingSide, { owed: { accounts } }: Debt, visit: PageContext): Promise<Fields> => ({
  ...(await paymentFields(
    visit,
    of.words.payment,
    'Quita primeiro as contas mais antigas. Se vazio, usa o total das contas marcadas.',
  )),
  accounts: {
    label: 'Contas (opcional)',
    kind: rowsInput(['Conta', 'Vencimento', 'Em aberto', 'Acumulado'], toRows(accounts)),
    columns: 12,
  },
})

const Intro = ({ of, debt: { owed } }: { readonly of: BalancePageSide; readonly debt: Debt }) => (
  <>
    <Stats>
      <Stat label="Em aberto" value={formatMoney(owed.amount)} hint={accountCount(owed.count)} />
      <Stat label="Vencido" value={formatMoney(owed.overdue)} />
    </Stats>
    {owed.count > owed.accounts.length && (
      <p class="hint">{`Aqui estão as ${formatCount(owed.accounts.length)} que vencem primeiro.`}</p>
    )}
    <ShownFields accounts={owed.accounts} words={of.words.payment} isChoice />
  </>
)

interface PayingSide {
  readonly of: BalancePageSide
  readonly section: Section
  readonly command: Command<AccountsPayment>
  get(visit: PageContext, id: number): Promise<FoundRecords>
}

async function debtOf({ of, get }: PayingSide, visit: PageContext): Promise<Debt | null> {
  const party = await loadRecord<Pick<Debt, 'id' | 'name'>>(visit, get)
  if (!party) return null
  const { reader, today } = visit.readModel
  const owed = await openBalanceOfParty(reader, of.side, party.id, { today, limit: MAX_ACCOUNTS })
  return { ...party, owed }
}

const NOTHING_CHOSEN = 'informe o valor ou marque as contas'

/** Receives or pays a sum for the accounts of a party: the ticked ones, else the oldest. */
function payPages(side: PayingSide): PanelRoute[] {
  const { of, section, command } = side
  const { parties, words } = of
  return formPages<Debt, z.infer<typeof Several>>({
    path: `${parties}/:id/liquidar`,
    section,
    access: section === 'payables' ? 'settle' : 'receive',
    subject: (visit) => debtOf(side, visit),
    title: ({ name }) => `${words.settle} ${of.side === 'receivables' ? 'de' : 'a'} ${formatPersonName(name)}`,
    obstacle: ({ owed }) => (owed.count === 0 ? words.none : null),
    intro: (debt) => <Intro of={of} debt={debt} />,
    label: words.payment.act,
    back: ({ id }) => `${parties}/${id}`,
    fields: (debt, visit) => fieldsOf(side, debt, visit),
    initial: ({ owed }, { session, readModel, query }) => ({
      paid_at: inZone(session.companysTime, readModel.timezone),
      accounts: owed.accounts.filter((account) => query[tickName(account)] !== undefined).map(formatAccountToken),
    }),
    needsApproval: (_, visit) => section === 'receivables' && offersApproval(visit, 'give_discount'),
    schema: Several,
    async act(submission, _, { accounts: ticked, ...input }) {
      if (ticked.length === 0 && typeof input.received !== 'string') return refuseField('received', NOTHING_CHOSEN)
      const accounts = ticked.length > 0 ? ticked : parseAccountTokens(submission.form)
      if (isRefusal(accounts)) return accounts
      const answer = await submission.run(command, { ...input, ...newMovement(submission), accounts })
      if (isRefusal(answer)) return answer
      const { payments } = answer.record as Account
      return { to: receiptPath(of.accounts, payments.at(-1)?.receipt ?? 0), flash: 'pagamento' }
    },
  })
}

export const settleSeveralPages: readonly PanelRoute[] = [
  ...payPages({
    of: RECEIVABLE,
    section: 'receivables',
    command: payReceivables,
    get: ({ readModel }, id) => getCustomerOrDebtor(readModel.reader, id),
  }),
  ...payPages({
    of: PAYABLE,
    section: 'payables',
    command: payPayables,
    get: ({ readModel }, id) => getSupplierOrCreditor(readModel.reader, id),
  }),
]
