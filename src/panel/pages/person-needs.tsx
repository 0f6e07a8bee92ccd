import {
  documentsSince,
  type Holding,
  type HoldingPeriod,
  holdingPeriod,
  holdingStatement,
} from '#commands/people/retention.ts'
import { formatDay } from '#domain/brazilian-format.ts'
import type { PersonKind } from '#domain/personal-data.ts'
import { link } from '../link.ts'
import type { PageContext } from '../route.ts'
import { namesOfSubjects } from '../ui/history.tsx'
import { Card } from '../ui/parts.tsx'
import { PAYABLE, PartyBalanceCard, RECEIVABLE } from './finance/open-balances.tsx'
import { ORDERS_PATH } from './orders.tsx'

/** What still needs a person's data: the first records of each kind, and the number of all. */
export interface PersonNeeds extends HoldingPeriod {
  readonly count: number
}

/** As the command decides; it looks again. */
export async function loadPersonNeeds(
  { readModel, context }: PageContext,
  kind: PersonKind,
  id: number,
): Promise<PersonNeeds> {
  const { reader, today, timezone } = readModel
  const since = documentsSince(context.environment.retentionYears, today, timezone)
  const { rows } = await reader.query<Holding>({ ...holdingStatement(kind), values: [id, since] })
  const { needs, count } = rows[0] as Holding
  return { ...holdingPeriod(needs, context.environment.retentionYears, timezone), count }
}

interface NamedNeed {
  readonly kind: string
  readonly id: number
}

/** Names of the records that need a person; an account is named by what it is for. */
export async function namesOfNeeds(
  { readModel }: PageContext,
  needs: readonly NamedNeed[],
): Promise<(need: NamedNeed) => string> {
  const subjectOf = ({ kind, id }: NamedNeed) => `${kind}/${id}`
  const names = await namesOfSubjects(
    readModel,
    needs.map((need) => ({ subject: subjectOf(need) })),
  )
  return (need) => (need.kind === 'store_credit' ? 'Crédito de troca' : names(subjectOf(need)))
}

const PATHS = {
  sale: '/vendas',
  receivable: RECEIVABLE.accounts,
  payable: PAYABLE.accounts,
  order: ORDERS_PATH,
  // Its id is the customer's.
  store_credit: '/clientes',
} as const

const SIDES: { readonly [K in PersonKind]?: typeof RECEIVABLE } = { customer: RECEIVABLE, supplier: PAYABLE }

interface PersonNeedsProps {
  readonly visit: PageContext
  readonly kind: PersonKind
  readonly id: number
  readonly needs: PersonNeeds
}

/** Debts and other records that need the person, with links, before anything is erased. */
export async function PersonNeedsCards({
  visit,
  kind,
  id,
  needs: { needed_by, count, until, hasOpen },
}: PersonNeedsProps) {
  const side = SIDES[kind]
  const isAccount = needed_by.some((need) => need.kind === 'receivable' || need.kind === 'payable')
  if (count === 0) return null
  const names = await namesOfNeeds(visit, needed_by)
  return (
    <>
      {side && isAccount && (await PartyBalanceCard({ visit, side, id }))}
      <Card title="Ainda precisam destes dados">
        <ul>
          {needed_by.map((need) => (
            <li key={`${need.kind}/${need.id}`}>
              <a href={link(`${PATHS[need.kind]}/${need.id}`)}>{names(need)}</a>
              {need.until === null ? ', em aberto' : `, documento fiscal até ${formatDay(need.until)}`}
            </li>
          ))}
        </ul>
        {count > needed_by.length && <p class="hint">{`E mais ${count - needed_by.length}.`}</p>}
        <p>{waitingText(until, hasOpen)}</p>
      </Card>
    </>
  )
}

/** What is erased when, if the erasure waits. */
function waitingText(until: string | null, hasOpen: boolean): string {
  const rest = until === null ? 'quando não houver mais nada em aberto' : `em ${formatDay(until)}`
  return hasOpen
    ? `Se você marcar essa opção, telefone, e-mail e observações ficam enquanto houver conta ou pedido em aberto, e o restante é excluído ${rest}.`
    : `Se você marcar essa opção, telefone, e-mail e observações são excluídos agora e o restante, ${rest}.`
}
