import { PaymentReversal, type ReversalInput } from '#commands/finance/account-input.ts'
import { formatDateTime, formatDay, formatMoney } from '#domain/brazilian-format.ts'
import { pathId } from '#http/paths.ts'
import type { Command } from '#ledger/command.ts'
import type { AccountPayment } from '#projections/finance.ts'
import { type AccountListing, listAccounts } from '#queries/finance/accounts.ts'
import { reasonField } from '../../forms/form.ts'
import { link } from '../../link.ts'
import type { PageAccess, PageContext, PanelRoute } from '../../route.ts'
import { formPages, runAndRedirect } from '../../ui/form-pages.tsx'
import { recordsOnPage } from '../../ui/list.tsx'
import { ListTable } from '../../ui/list-table.tsx'
import { ButtonLink, Card, Facts } from '../../ui/parts.tsx'
import { loadRecord, type RecordPages } from '../../ui/record-pages.tsx'
import { type Account, AccountBadge } from './account.tsx'
import { PAYABLE } from './open-balances.tsx'
import { paidByText, receiptPath } from './receipts.tsx'

interface PaymentsProps {
  readonly account: Account
  readonly path: string
  readonly visit: PageContext
}

/** Whether a person can reverse it: goods that came back stay back. */
const isReversible = ({ kind, reversed_at }: AccountPayment): boolean => kind === 'payment' && reversed_at === null

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

interface SiblingsProps extends PaymentsProps {
  readonly listing: AccountListing
}

/** The instalments of the account's group. */
export async function InstallmentsCard({ account, path, visit, listing }: SiblingsProps) {
  if (!account.installment) return null
  const { reader, today } = visit.readModel
  const { group } = account.installment
  const siblings = await listAccounts(reader, listing, { limit: MAX_SIBLINGS, installment_group: group }, today)
  return (
    <Card title="Parcelas">
      <ListTable
        caption="Parcelas"
        rows={recordsOnPage<Account>(siblings)}
        empty=""
        columns={[
          {
            head: 'Parcela',
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
  return formPages<ReversibleAccount, { reason: string }>({
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
    fields: () => ({ reason: reasonField('Fica no histórico da conta.') }),
    schema: PaymentReversal,
    act: (submission, { account, payment }, { reason }) =>
      runAndRedirect(
        submission,
        command,
        { id: account.id, payment_id: payment.id, reason },
        { to: `${path}/${account.id}`, flash: 'estornado' },
      ),
  })
}
