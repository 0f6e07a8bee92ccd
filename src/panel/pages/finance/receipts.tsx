import { formatDateTime, formatDay, formatMoney, formatPersonName } from '#domain/brazilian-format.ts'
import { fromCents, toCents } from '#domain/money.ts'
import { paymentMethodName } from '#domain/payment-method.ts'
import { pathId } from '#http/paths.ts'
import type { AccountPayment } from '#projections/finance.ts'
import { type ReceiptLine, readAccountReceipt } from '#queries/finance/receipts.ts'
import { link } from '../../link.ts'
import type { PageContext, PageRoute, PanelPage, Section } from '../../route.ts'
import { Alert, type Fact, Facts } from '../../ui/parts.tsx'
import { companyOf, logoOriginOf, ShopHead } from '../brand.tsx'
import { SumLine } from '../sales/sale.tsx'
import { type BalancePageSide, PAYABLE, RECEIVABLE } from './open-balances.tsx'

/** Path of the receipt with a number; `accounts` is that of the accounts. */
export const receiptPath = (accounts: string, receipt: number): string => `${accounts}/recibos/${receipt}`

interface PartyName {
  readonly customer_name?: string | null
  readonly supplier_name?: string | null
}

type Line = ReceiptLine<PartyName>

const sumOf = (lines: readonly Line[], field: 'amount' | 'interest' | 'fine' | 'discount' | 'excess' | 'received') =>
  fromCents(lines.reduce((sum, { payment }) => sum + toCents(payment[field]), 0))

/** `Devolução de mercadoria`, or how it was paid. */
export const paidByText = ({ kind, payment_method }: AccountPayment): string =>
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
  const { reader, timezone } = visit.readModel
  const receipt = pathId(visit.params.id)
  const lines = receipt === null ? [] : await readAccountReceipt<PartyName>(reader, side.side, receipt)
  if (lines.length === 0) return null
  const company = await companyOf(visit)
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
    imageOrigin: logoOriginOf(company),
    body,
  }
}

const pageOf = (side: BalancePageSide, section: Section): PageRoute => ({
  path: `${side.accounts}/recibos/:id`,
  section,
  show: (visit) => show(side, visit),
})

export const receiptPages: readonly PageRoute[] = [pageOf(RECEIVABLE, 'receivables'), pageOf(PAYABLE, 'payables')]
