import type * as z from 'zod'
import { PaymentReversal, type ReversalInput } from '#commands/account-commands.ts'
import { NamedSession } from '#commands/named-drawers.ts'
import { fromCents, toCents } from '#domain/money.ts'
import { paymentMethodName } from '#domain/payment-rules.ts'
import { formatDateTime, formatDay, formatMoney, formatPersonName } from '#domain/person-values.ts'
import { pathId } from '#http/paths.ts'
import type { Command } from '#ledger/command.ts'
import type { AccountPayment } from '#projections/finance.ts'
import { type AccountListing, listAccounts, type ReceiptLine, readAccountReceipt } from '#queries/account-queries.ts'
import { openBalanceOfParty } from '#queries/open-balances.ts'
import { reasonField } from '../forms/panel-form.ts'
import { link } from '../page-context.ts'
import type { PageAccess, PageContext, PageRoute, PanelPage, PanelRoute, Section } from '../panel-route.ts'
import { formPages, runAndRedirect } from '../ui/form-pages.tsx'
import { ListTable } from '../ui/list-table.tsx'
import { Alert, ButtonLink, Card, type Fact, Facts } from '../ui/page-parts.tsx'
import { recordsOnPage } from '../ui/panel-list.tsx'
import { loadRecord, type RecordPages } from '../ui/record-pages.tsx'
import { type Account, AccountBadge } from './account-parts.tsx'
import { loadCompany, ShopHead, toLogoOrigin } from './company-pages.tsx'
import { type BalancePageSide, PAYABLE, RECEIVABLE } from './debtor-pages.tsx'
import { drawerFields, GIVING_DRAWER, newMovement } from './payment-form.tsx'
import { SumLine } from './sale-page.tsx'

/** Path of the receipt with a number; `accounts` is that of the accounts. */
export const receiptPath = (accounts: string, receipt: number): string => `${accounts}/recibos/${receipt}`

interface PartyName {
  readonly customer_id?: number | null
  readonly supplier_id?: number | null
  readonly customer_name?: string | null
  readonly supplier_name?: string | null
}

type Line = ReceiptLine<PartyName>

const sumOf = (lines: readonly Line[], field: 'amount' | 'interest' | 'fine' | 'discount' | 'excess' | 'received') =>
  fromCents(lines.reduce((sum, { payment }) => sum + toCents(payment[field]), 0))

/** `Devolução de mercadoria`, or how it was paid. */
const paidByText = ({ kind, payment_method }: AccountPayment): string =>
  kind === 'return' ? 'Devolução de mercadoria' : payment_method === null ? '—' : paymentMethodName(payment_method)

function factsOf({ words }: BalancePageSide, lines: readonly Line[], { readModel }: PageContext): Fact[] {
  const { account, payment } = lines[0] as Line
  const name = account.customer_name ?? account.supplier_name ?? null
  return [
    [words.party, name && formatPersonName(name)],
    ['Data', formatDateTime(payment.paid_at, readModel.timezone)],
    ['Forma de pagamento', paidByText(payment)],
  ]
}

const Lines = ({ lines, accounts }: { readonly lines: readonly Line[]; readonly accounts: string }) => (
  <table class="lines">
    <caption class="hidden">Contas</caption>
    <tbody>
      {lines.map(({ account, payment }) => (
        <tr key={account.id}>
          <th scope="row">
            <a href={link(`${accounts}/${account.id}`)}>{account.description}</a>
            <small>
              {`vence em ${formatDay(account.due_date)}`}
              {account.open_amount !== '0.00' && `, ${formatMoney(account.open_amount)} em aberto`}
            </small>
          </th>
          <td class="number">{formatMoney(payment.amount)}</td>
        </tr>
      ))}
    </tbody>
  </table>
)

/** Sums beside the accounts that are not zero, and what changed hands. */
const Sums = ({ lines, words }: { readonly lines: readonly Line[]; readonly words: BalancePageSide['words'] }) => (
  <dl class="sums total">
    <SumLine name="Juros" amount={sumOf(lines, 'interest')} isOptional />
    <SumLine name="Multa" amount={sumOf(lines, 'fine')} isOptional />
    <SumLine name="Desconto" amount={sumOf(lines, 'discount')} isOptional />
    <SumLine name="Recebido a mais" amount={sumOf(lines, 'excess')} isOptional />
    <SumLine name={words.received} amount={sumOf(lines, 'received')} />
  </dl>
)

/** Receipt of a payment of one or several accounts; printable. */
async function show(side: BalancePageSide, visit: PageContext): Promise<PanelPage | null> {
  const { reader, timezone, today } = visit.readModel
  const receipt = pathId(visit.params.id)
  const lines = receipt === null ? [] : await readAccountReceipt<PartyName>(reader, side.side, receipt)
  if (lines.length === 0) return null
  const company = await loadCompany(visit)
  const { customer_id, supplier_id } = (lines[0] as Line).account
  const party = customer_id ?? supplier_id ?? null
  const owed = party === null ? null : await openBalanceOfParty(reader, side.side, party, { today, limit: 1 })
  const reversed = lines.flatMap(({ payment }) => payment.reversed_at ?? [])
  const body = (
    <div class="receipt">
      {company && <ShopHead company={company} />}
      {reversed[0] && (
        <Alert>Estornado em {formatDateTime(reversed[0], timezone)}: este recibo não é mais válido.</Alert>
      )}
      <Facts facts={factsOf(side, lines, visit)} />
      <Lines lines={lines} accounts={side.accounts} />
      <Sums lines={lines} words={side.words} />
      {owed && (
        <dl class="sums">
          <SumLine name={`${side.words.total} ainda`} amount={owed.amount} />
        </dl>
      )}
      <p>
        Assinatura: <span class="blank" />
      </p>
      <p class="note">Não é documento fiscal.</p>
    </div>
  )
  return {
    title: `Recibo nº ${receipt}`,
    parent: { label: 'Contas', to: side.accounts },
    main: { label: 'Imprimir', to: visit.path, prints: true },
    imageOrigin: toLogoOrigin(company),
    body,
  }
}

const pageOf = (side: BalancePageSide, section: Section): PageRoute => ({
  path: `${side.accounts}/recibos/:id`,
  section,
  show: (visit) => show(side, visit),
})

export const receiptPages: readonly PageRoute[] = [pageOf(RECEIVABLE, 'receivables'), pageOf(PAYABLE, 'payables')]

interface PaymentsProps {
  readonly account: Account
  readonly path: string
  readonly visit: PageContext
}

/** Whether a person can reverse it: goods that came back stay back, and an order's money goes back with it. */
const isReversible = ({ kind, reversed_at, order_id }: AccountPayment): boolean =>
  kind === 'payment' && reversed_at === null && order_id === null

/** Interest and fine less the discount. */
const extrasOf = ({ interest, fine, discount, excess }: AccountPayment): string =>
  [
    ['juros', interest],
    ['multa', fine],
    ['desconto', discount],
    ['a mais', excess],
  ]
    .flatMap(([name, amount]) => (amount === '0.00' ? [] : `${name} ${formatMoney(amount as string)}`))
    .join(', ')

/** Payments on an account's page, reversed ones included. */
export const PaymentsCard = ({ account, path, visit: { readModel } }: PaymentsProps) =>
  account.payments.length === 0 ? null : (
    <Card title="Pagamentos" id="pagamentos">
      <ListTable
        isList
        caption="Pagamentos"
        rows={account.payments}
        empty=""
        columns={[
          { head: 'Data', cell: ({ paid_at }) => formatDateTime(paid_at, readModel.timezone) },
          { head: 'Forma', cell: paidByText },
          { head: 'Abateu', cell: ({ amount }) => formatMoney(amount), isNumber: true },
          { head: 'Acréscimos', cell: extrasOf, isExtra: true },
          {
            head: path === PAYABLE.accounts ? 'Pago' : 'Recebido',
            cell: ({ received }) => formatMoney(received),
            isNumber: true,
          },
          {
            head: 'Situação',
            cell: ({ reversed_at, reversal_reason }) =>
              reversed_at !== null &&
              `Estornado em ${formatDateTime(reversed_at, readModel.timezone)}: ${reversal_reason}`,
          },
          {
            head: 'Ações',
            cell: (payment) =>
              isReversible(payment) && !readModel.moment ? (
                <>
                  <ButtonLink to={receiptPath(path, payment.receipt)}>Recibo</ButtonLink>{' '}
                  <ButtonLink to={`${path}/${account.id}/pagamentos/${payment.id}/estornar`}>Estornar</ButtonLink>
                </>
              ) : null,
          },
        ]}
      />
    </Card>
  )

/** Accounts that were created together: most of a group, which has 120 at most. */
const MAX_SIBLINGS = 120

/** Of a bill that repeats. */
const NEXT_BILLS = 12

interface SiblingsProps extends PaymentsProps {
  readonly listing: AccountListing
}

/** The instalments of the account's group. */
export async function InstallmentsCard({ account, path, visit, listing }: SiblingsProps) {
  if (!account.installment) return null
  const { reader, today } = visit.readModel
  const { group: installment_group, repeats } = account.installment
  const asked = repeats ? { limit: NEXT_BILLS, due_from: today } : { limit: MAX_SIBLINGS }
  const siblings = await listAccounts(reader, listing, { ...asked, installment_group }, today)
  const title = repeats ? 'Próximas contas' : 'Parcelas'
  return (
    <Card title={title}>
      <ListTable
        caption={title}
        rows={recordsOnPage<Account>(siblings)}
        empty="A repetição terminou."
        columns={[
          {
            head: repeats ? 'Conta' : 'Parcela',
            cell: ({ id, installment }) => <a href={link(`${path}/${id}`)}>{installmentText(installment)}</a>,
          },
          { head: 'Vencimento', cell: ({ due_date }) => formatDay(due_date) },
          { head: 'Valor', cell: ({ amount }) => formatMoney(amount), isNumber: true },
          { head: 'Situação', cell: (each) => <AccountBadge account={each} /> },
        ]}
      />
    </Card>
  )
}

/** `2/3` */
export const installmentText = (installment: Account['installment']): string =>
  installment === null ? '' : `${installment.number}/${installment.count}`

const Reversal = PaymentReversal.extend({ cash_session_id: NamedSession })

/** Question for the drawer of a reversal: an open one that received the money gives it back. */
const drawerOf = (path: string, { cash_session_id: own }: AccountPayment) =>
  path === PAYABLE.accounts ? { label: 'Para onde volta o dinheiro' } : { label: GIVING_DRAWER, own, isFixed: true }

interface ReversibleAccount {
  readonly account: Account
  readonly payment: AccountPayment
}

/** Reversal of a payment, with a reason. */
export function reversalPages<P>(
  { path, section, get }: RecordPages<Account<P>>,
  access: PageAccess,
  command: Command<ReversalInput>,
): PanelRoute[] {
  return formPages<ReversibleAccount, z.infer<typeof Reversal>>({
    path: `${path}/:id/pagamentos/:payment_id/estornar`,
    section,
    access,
    async subject(visit) {
      const account = await loadRecord<Account<P>>(visit, get)
      const payment = account?.payments.find(({ id }) => id === pathId(visit.params.payment_id))
      return account && payment ? { account, payment } : null
    },
    title: ({ account }) => `Estornar pagamento de ${account.description}`,
    obstacle({ payment }) {
      if (payment.reversed_at !== null) return 'Este pagamento já foi estornado.'
      return payment.kind === 'return' ? 'Uma devolução de mercadoria não pode ser estornada.' : null
    },
    before: ({ payment }, { readModel }) => (
      <Card title="Pagamento">
        <Facts
          facts={[
            ['Data', formatDateTime(payment.paid_at, readModel.timezone)],
            ['Forma de pagamento', paidByText(payment)],
            ['Abateu', formatMoney(payment.amount)],
            [path === PAYABLE.accounts ? 'Pago' : 'Recebido', formatMoney(payment.received)],
          ]}
        />
      </Card>
    ),
    intro: () => <p>O valor volta a ficar em aberto na conta. Devolva o dinheiro, se foi recebido.</p>,
    label: 'Estornar',
    isDangerous: true,
    back: ({ account }) => `${path}/${account.id}`,
    fields: async ({ payment }, visit) => ({
      ...(payment.payment_method === 'cash' && (await drawerFields(visit, drawerOf(path, payment)))),
      reason: reasonField('Fica no histórico da conta.'),
    }),
    schema: Reversal,
    act: (submission, { account, payment }, input) =>
      runAndRedirect(
        submission,
        command,
        { id: account.id, payment_id: payment.id, ...input, ...newMovement(submission) },
        { to: `${path}/${account.id}`, flash: 'estornado' },
      ),
  })
}
