import { PanelSettlement, type SettleInput } from '#commands/finance/account-input.ts'
import { formatMoney } from '#domain/brazilian-format.ts'
import { inZone } from '#domain/instant.ts'
import { PAYMENT_METHOD_NAMES, PAYMENT_METHODS } from '#domain/payment-method.ts'
import type { Refusal } from '#domain/refusal.ts'
import { type Command, isRefusal } from '#ledger/command.ts'
import { type Fields, formText } from '../../forms/form.ts'
import { choiceInput, momentInput, optionsOf } from '../../forms/kinds.ts'
import type { PanelRoute } from '../../route.ts'
import { formPages } from '../../ui/form-pages.tsx'
import { Card, Facts } from '../../ui/parts.tsx'
import { loadRecord, type RecordPages } from '../../ui/record-pages.tsx'
import type { Account } from './account.tsx'

const methods = optionsOf(PAYMENT_METHODS, (method) => PAYMENT_METHOD_NAMES[method])

const FIELDS: Fields = {
  payment_method: { label: 'Forma de pagamento', kind: choiceInput(methods, 'Escolha…'), isRequired: true, columns: 6 },
  paid_at: { label: 'Data e hora', kind: momentInput, columns: 6, hint: 'Em branco: agora.' },
}

/** Hidden field with the displayed amount: if it has changed, nothing is settled. */
const AMOUNT = 'amount'

/** State, amount, due date and party. */
const SHOWN_FACTS = 4

export const settlementPages = <P,>(
  { path, section, get, facts }: RecordPages<Account<P>>,
  command: Command<SettleInput>,
): PanelRoute[] =>
  formPages({
    path: `${path}/:id/liquidar`,
    section,
    access: section === 'payables' ? 'settle' : 'receive',
    subject: (visit) => loadRecord<Account<P>>(visit, get),
    title: ({ description }) => `Liquidar: ${description}`,
    before: (account, visit) => (
      <Card title="Conta">
        <Facts facts={facts(account, visit).slice(0, SHOWN_FACTS)} />
      </Card>
    ),
    intro: ({ amount }) => (
      <>
        <input type="hidden" name={AMOUNT} value={amount} />
        <p>A conta é liquidada por inteiro, e depois não pode mais ser alterada.</p>
      </>
    ),
    label: ({ amount }) => `Liquidar ${formatMoney(amount)}`,
    back: ({ id }) => `${path}/${id}`,
    fields: () => FIELDS,
    initial: (_, { session, readModel }) => ({ paid_at: inZone(session.companysTime, readModel.timezone) }),
    schema: PanelSettlement,
    problem: changed,
    async act(submission, { id }, input) {
      const amount = formText(submission.form, AMOUNT)
      const answer = await submission.run(command, { ...input, id, amount })
      return isRefusal(answer) ? answer : { to: `${path}/${id}`, flash: 'liquidada' }
    },
  })

/** The amount is not typed, so a mismatch means that the account has changed. */
function changed({ details }: Refusal): string | undefined {
  const isAmount = AMOUNT in ((details?.fields ?? {}) as Record<string, unknown>)
  return isAmount ? 'O valor da conta mudou desde que esta página foi aberta: confira e repita.' : undefined
}
