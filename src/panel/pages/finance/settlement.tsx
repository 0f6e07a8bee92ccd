import type { AccountsPayment } from '#commands/finance/pay-accounts.ts'
import { inZone } from '#domain/instant.ts'
import type { Refusal } from '#domain/refusal.ts'
import { type Command, isRefusal } from '#ledger/command.ts'
import { offersApproval } from '../../approval.ts'
import type { PanelRoute } from '../../route.ts'
import { formPages } from '../../ui/form-pages.tsx'
import { Card, Facts } from '../../ui/parts.tsx'
import { loadRecord, type RecordPages } from '../../ui/record-pages.tsx'
import type { Account } from './account.tsx'
import { PaymentForm, type PaymentWords, payLabel, paymentFields, ShownFields, shownAccounts } from './payment-form.tsx'

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
    before: (account, visit) => (
      <Card title="Conta">
        <Facts facts={facts(account, visit).slice(0, SHOWN_FACTS)} />
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
      const accounts = shownAccounts(submission.form)
      if (isRefusal(accounts)) return accounts
      const answer = await submission.run(command, { ...input, accounts: accounts.filter((each) => each.id === id) })
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
