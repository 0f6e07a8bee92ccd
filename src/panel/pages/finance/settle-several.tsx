import { z } from 'zod'
import { PanelSettlement, type SettleInput } from '#commands/finance/account-input.ts'
import { settlePayable } from '#commands/finance/payables.ts'
import { settleReceivable } from '#commands/finance/receivables.ts'
import { formatCount, formatDay, formatMoney, formatPersonName } from '#domain/brazilian-format.ts'
import { inZone } from '#domain/instant.ts'
import { Money } from '#domain/money.ts'
import { PAYMENT_METHOD_NAMES, PAYMENT_METHODS } from '#domain/payment-method.ts'
import type { Refusal } from '#domain/refusal.ts'
import { Id } from '#domain/text.ts'
import { type Command, isRefusal } from '#ledger/command.ts'
import { type OpenAccount, openBalanceOfParty, type PartyBalance } from '#queries/finance/open-balances.ts'
import { getCustomer, getSupplier } from '#queries/people.ts'
import type { FoundRecords } from '#queries/records.ts'
import type { Fields } from '../../forms/form.ts'
import { choiceInput, choicesInput, momentInput, optionsOf } from '../../forms/kinds.ts'
import { link } from '../../link.ts'
import type { FormSubmission, PageContext, PanelPage, PanelRoute, Section } from '../../route.ts'
import { formPages } from '../../ui/form-pages.tsx'
import { ListTable } from '../../ui/list.tsx'
import { Alert, ButtonLink, Stat, Stats } from '../../ui/parts.tsx'
import { loadRecord } from '../../ui/record-pages.tsx'
import { refusalMessage } from '../../words/problems.ts'
import { type BalancePageSide, countOf, PAYABLE, RECEIVABLE } from './open-balances.tsx'

/** Accounts on the page, oldest due first. */
const MOST = 50

/** A party with its open accounts. */
interface Debt {
  readonly id: number
  readonly name: string | null
  readonly owed: PartyBalance
}

/**
 * Value of a checkbox: the account and the displayed amount. An account whose amount has changed since is not settled.
 */
const chosen = ({ id, amount }: Pick<OpenAccount, 'id' | 'amount'>): string => `${id}:${amount}`

const Chosen = z
  .string()
  .transform((text) => {
    const [id, amount] = text.split(':')
    return { id: Number(id), amount }
  })
  .pipe(z.strictObject({ id: Id, amount: Money }))

const Several = PanelSettlement.extend({
  accounts: z.array(Chosen).min(1, 'escolha pelo menos uma conta').max(MOST),
})

const labelOf = ({ description, due_date, amount }: OpenAccount): string =>
  `${description}, vence em ${formatDay(due_date)}: ${formatMoney(amount)}`

const methods = optionsOf(PAYMENT_METHODS, (method) => PAYMENT_METHOD_NAMES[method])

const fieldsOf = ({ owed: { accounts } }: Debt): Fields => ({
  accounts: {
    label: 'Contas',
    kind: choicesInput(accounts.map((account) => ({ value: chosen(account), label: labelOf(account) }))),
    columns: 12,
  },
  payment_method: { label: 'Forma de pagamento', kind: choiceInput(methods, 'Escolha…'), isRequired: true, columns: 6 },
  paid_at: { label: 'Data e hora', kind: momentInput, columns: 6, hint: 'Em branco: agora.' },
})

const Intro = ({ debt: { owed } }: { readonly debt: Debt }) => (
  <>
    <Stats>
      <Stat label="Em aberto" value={formatMoney(owed.amount)} hint={countOf(owed.count, 'conta', 'contas')} />
      <Stat label="Vencido" value={formatMoney(owed.overdue)} />
    </Stats>
    {owed.count > owed.accounts.length && (
      <p class="hint">{`Aqui estão as ${formatCount(owed.accounts.length)} que vencem primeiro.`}</p>
    )}
    <p>Cada conta escolhida é liquidada por inteiro, e depois não pode mais ser alterada.</p>
  </>
)

interface SettlingSide {
  readonly of: BalancePageSide
  readonly section: Section
  readonly command: Command<SettleInput>
  get(visit: PageContext, id: number): Promise<FoundRecords>
}

async function debtOf({ of, get }: SettlingSide, visit: PageContext): Promise<Debt | null> {
  const party = await loadRecord<Pick<Debt, 'id' | 'name'>>(visit, get)
  if (!party) return null
  const { pool, companyId, today } = visit.readModel
  return { ...party, owed: await openBalanceOfParty(pool, of.side, companyId, party.id, { today, limit: MOST }) }
}

/** Result of one account; null if it was settled. */
type Outcome = readonly [account: { readonly id: number; readonly amount: string }, refusal: Refusal | null]

/** Each account is a command with its own key: a repeated form settles the remaining accounts, and none twice. */
const settleEach = (
  submission: FormSubmission,
  command: Command<SettleInput>,
  { accounts, ...settlement }: z.infer<typeof Several>,
): Promise<Outcome[]> =>
  Promise.all(
    accounts.map(async (account) => {
      const answer = await submission.run(command, { ...settlement, ...account })
      return [account, isRefusal(answer) ? answer : null] as const
    }),
  )

/** Page after a partial success, with the reason for each refused account. */
const partlyPage = ({ accounts: path }: BalancePageSide, outcomes: readonly Outcome[], back: string): PanelPage => {
  const refused = outcomes.filter(([, refusal]) => refusal !== null).length
  const body = (
    <>
      <Alert>{`${countOf(refused, 'conta não foi liquidada', 'contas não foram liquidadas')}. Veja por quê.`}</Alert>
      <ListTable
        caption="Contas escolhidas"
        rows={outcomes}
        empty=""
        columns={[
          { head: 'Conta', cell: ([{ id }]) => <a href={link(`${path}/${id}`)}>{id}</a> },
          { head: 'Valor', cell: ([{ amount }]) => formatMoney(amount), isNumber: true },
          { head: 'Resultado', cell: ([, refusal]) => (refusal ? reasonOf(refusal) : 'Liquidada') },
        ]}
      />
      <p>
        <ButtonLink to={back}>Voltar</ButtonLink>
      </p>
    </>
  )
  return { title: 'Nem todas as contas foram liquidadas', status: 409, body }
}

/** The amount is not typed, so a mismatch means that the account has changed. */
function reasonOf(refusal: Refusal): string {
  const isAmount = 'amount' in ((refusal.details?.fields ?? {}) as Record<string, unknown>)
  return isAmount ? 'O valor da conta mudou desde que a página foi aberta.' : refusalMessage(refusal)
}

/** A fault of the form itself is shown at its field, because it concerns every account. */
const isAboutForm = ({ details }: Refusal): boolean => 'paid_at' in ((details?.fields ?? {}) as Record<string, unknown>)

/** Settles several accounts of a party with one form (PANEL-163). */
function settlePages(side: SettlingSide): PanelRoute[] {
  const { of, section, command } = side
  const { parties, words } = of
  return formPages<Debt, z.infer<typeof Several>>({
    path: `${parties}/:id/liquidar`,
    section,
    access: section === 'payables' ? 'settle' : 'receive',
    subject: (visit) => debtOf(side, visit),
    title: ({ name }) => `${words.settle}: ${formatPersonName(name)}`,
    obstacle: ({ owed }) => (owed.count === 0 ? words.none : null),
    intro: (debt) => <Intro debt={debt} />,
    label: 'Liquidar as contas escolhidas',
    back: ({ id }) => `${parties}/${id}`,
    fields: fieldsOf,
    initial: ({ owed }, { session, readModel }) => ({
      accounts: owed.accounts.map(chosen),
      paid_at: inZone(session.now, readModel.timezone),
    }),
    schema: Several,
    async act(submission, { id }, input) {
      const outcomes = await settleEach(submission, command, input)
      const refusals = outcomes.flatMap(([, refusal]) => refusal ?? [])
      const [first] = refusals
      if (!first) return { to: `${parties}/${id}`, flash: outcomes.length === 1 ? 'liquidada' : 'liquidadas' }
      if (refusals.length === outcomes.length && isAboutForm(first)) return first
      return partlyPage(of, outcomes, `${parties}/${id}`)
    },
  })
}

export const settleSeveralPages: readonly PanelRoute[] = [
  ...settlePages({
    of: RECEIVABLE,
    section: 'receivables',
    command: settleReceivable,
    get: ({ readModel }, id) => getCustomer(readModel.pool, readModel.companyId, id),
  }),
  ...settlePages({
    of: PAYABLE,
    section: 'payables',
    command: settlePayable,
    get: ({ readModel }, id) => getSupplier(readModel.pool, readModel.companyId, id),
  }),
]
