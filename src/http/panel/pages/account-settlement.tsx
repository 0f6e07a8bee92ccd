import { type SettleInput, Settlement } from '../../../../commands/accounts/account-input.ts'
import { inZone } from '../../../domain/instant.ts'
import { PAYMENT_METHOD_NAMES, PAYMENT_METHODS } from '../../../domain/payment-method.ts'
import type { Refusal } from '../../../domain/refusal.ts'
import { type Command, isRefusal } from '../../../ledger/command.ts'
import { statusOf } from '../../problems.ts'
import { money } from '../format.ts'
import { textOf } from '../forms/body.ts'
import { checked, type Fields, type Filled, filledFrom, filledWith } from '../forms/form.ts'
import { choice, moment } from '../forms/kinds.ts'
import type { Page, PanelRoute, Submission, Visit } from '../route.ts'
import { Form } from '../ui/form.tsx'
import { Card, Facts } from '../ui/parts.tsx'
import type { Account } from './account-pages.ts'
import { type RecordPages, withRecord } from './record-pages.ts'

const methods = PAYMENT_METHODS.map((value) => ({ value, label: PAYMENT_METHOD_NAMES[value] }))

const FIELDS: Fields = {
  payment_method: { label: 'Forma de pagamento', kind: choice(methods, 'Escolha…'), isRequired: true, columns: 6 },
  paid_at: { label: 'Data e hora', kind: moment, columns: 6, hint: 'Em branco: agora.' },
}

/** The amount that the person has seen: another one by now is told, and nothing is settled. */
const AMOUNT = 'amount'

const Settled = Settlement.omit({ amount: true })

function settlePage<P>(
  { path, facts }: RecordPages<Account<P>>,
  visit: Visit,
  account: Account<P>,
  filled?: Filled,
  status?: number,
): Page {
  const here = `${path}/${account.id}`
  const { timezone } = visit.books
  const now = inZone(visit.session.now, timezone)
  const body = (
    <>
      <Card title="Conta">
        <Facts facts={facts(account, visit).slice(0, SHOWN_FACTS)} />
      </Card>
      <Form
        visit={visit}
        to={`${here}/liquidar`}
        label={`Liquidar ${money(account.amount)}`}
        fields={FIELDS}
        filled={filled ?? filledFrom(FIELDS, { paid_at: now }, timezone)}
        back={here}
      >
        <input type="hidden" name={AMOUNT} value={account.amount} />
        <p>A conta é liquidada por inteiro, e depois não pode mais ser alterada.</p>
      </Form>
    </>
  )
  return { title: `Liquidar: ${account.description}`, body, status }
}

/** How things stand, amount, due date and party. */
const SHOWN_FACTS = 4

async function settle<P>(
  pages: RecordPages<Account<P>>,
  command: Command<SettleInput>,
  submission: Submission,
  account: Account<P>,
) {
  const { form, books } = submission
  const again = (filled: Filled, status: number) => settlePage(pages, submission, account, filled, status)
  const parsed = checked(Settled, FIELDS, form, books.timezone)
  if ('filled' in parsed) return again(parsed.filled, 422)
  const amount = textOf(form, AMOUNT)
  const answer = await submission.run(command, { ...parsed.input, id: account.id, amount })
  if (isRefusal(answer))
    return again({ ...filledWith(FIELDS, form, answer), ...changed(answer) }, statusOf(answer.refused))
  return { to: `${pages.path}/${account.id}`, notice: 'liquidada' } as const
}

/** Nobody has typed the amount, so it can only be wrong because somebody has changed it. */
function changed({ details }: Refusal): Partial<Filled> {
  const fields = (details?.fields ?? {}) as Record<string, unknown>
  return AMOUNT in fields
    ? { problem: 'O valor da conta mudou desde que esta página foi aberta: confira e repita.' }
    : {}
}

/** The page that settles an account. */
export const settlementRoutes = <P,>(pages: RecordPages<Account<P>>, command: Command<SettleInput>): PanelRoute[] => {
  const at = { section: pages.section, path: `${pages.path}/:id/liquidar` }
  return [
    { ...at, show: (visit) => withRecord(pages, visit, (account) => settlePage(pages, visit, account)) },
    { ...at, submit: (s) => withRecord(pages, s, (account) => settle(pages, command, s, account)) },
  ]
}
