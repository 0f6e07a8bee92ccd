import { listTillContacts, type TillContact } from '#access/till-access.ts'
import { formatCount, formatDateTime, formatMoney } from '#domain/person-values.ts'
import { countRefusedByUser } from '#queries/offline-sale-queries.ts'
import { MAX_TILLS_OF_DAY, type TillDay, tillsOfDay } from '#queries/till-queries.ts'
import { link } from '../page-context.ts'
import type { PageContext } from '../panel-route.ts'
import { namesOfActors } from '../record-history.tsx'
import { wayName } from '../ui/head.tsx'
import { ListTable } from '../ui/list-table.tsx'
import { Card, Figure, PanelBadge } from '../ui/page-parts.tsx'

/** Displayed tills; shops have fewer. */
const SHOWN = 50

/** A user of a till: logged in there, or with sales of today. */
interface Till {
  readonly actor: string | null
  readonly contact: TillContact | undefined
  readonly day: TillDay | undefined
  readonly refused: number
}

/** Tills with last contact, version, today's sales by payment type, and refused sales. */
export async function TillsToday({ visit: { primary, readModel } }: { readonly visit: PageContext }) {
  const { reader, timezone, today } = readModel
  const [contacts, day, refused] = await Promise.all([
    listTillContacts(primary, SHOWN),
    tillsOfDay(reader, { day: today, timezone, sessions: [] }),
    countRefusedByUser(primary),
  ])
  const tills = tillsOf(contacts, day.isPartial ? [] : day.tills, refused)
  const names = await namesOfActors(readModel, tills)
  return (
    <Card title="Caixas hoje">
      {day.isPartial && <TooMany />}
      <ListTable
        isList
        caption="Caixas hoje"
        rows={tills}
        empty="Ninguém entrou em um caixa ainda."
        columns={[
          {
            head: 'Caixa',
            cell: ({ actor }) => <a href={link('/vendas', salesOfTill(actor, today))}>{names(actor)}</a>,
          },
          { head: 'Último contato', cell: ({ contact }) => contact && formatDateTime(contact.last_used_at, timezone) },
          { head: 'Versão', cell: ({ contact }) => contact?.version, isExtra: true },
          {
            head: 'Vendas',
            cell: ({ actor, day }) => (
              <Figure name="concluidas" of={`caixa/${actor}`}>
                {formatCount(day ? day.sold.count - day.cancelled.count : 0)}
              </Figure>
            ),
            isNumber: true,
            isExtra: true,
          },
          { head: 'Formas de pagamento', cell: ({ day }) => <PaymentWays day={day} />, isExtra: true },
          {
            head: 'Recusadas',
            cell: ({ actor, refused }) => <RefusedCount of={`caixa/${actor}`} count={refused} />,
            isNumber: true,
          },
          {
            head: 'Total',
            cell: ({ actor, day }) => (
              <Figure name="liquido" of={`caixa/${actor}`}>
                {formatMoney(day?.net ?? '0.00')}
              </Figure>
            ),
            isNumber: true,
          },
        ]}
      />
    </Card>
  )
}

export const TooMany = () => (
  <p class="problem" role="note">
    {`Há mais de ${formatCount(MAX_TILLS_OF_DAY)} vendas: elas não são somadas aqui.`}
  </p>
)

/** Filters for the sales of a till on a day. */
export const salesOfTill = (actor: string | null, day: string) => ({
  actor: actor ?? 'system',
  origin: 'pdv',
  sold_from: day,
  sold_to: day,
})

function tillsOf(
  contacts: readonly TillContact[],
  days: readonly TillDay[],
  refused: ReadonlyMap<number, number>,
): Till[] {
  const contactOf = new Map<string, TillContact>(
    contacts.map((contact) => [`user/${contact.user_id}`, contact] as const),
  )
  const dayOf = new Map(days.map((day) => [day.actor, day] as const))
  const actors = new Set<string | null>([...contactOf.keys(), ...dayOf.keys()])
  return [...actors].slice(0, 2 * SHOWN).map((actor) => ({
    actor,
    contact: contactOf.get(actor ?? ''),
    day: dayOf.get(actor),
    refused: refused.get(Number(actor?.split('/')[1])) ?? 0,
  }))
}

const PaymentWays = ({ day }: { readonly day: TillDay | undefined }) =>
  day?.ways
    .filter(({ sold, cancelled }) => sold.count > cancelled.count)
    .map((way) => (
      <div key={way.key}>
        {wayName(way)}: {formatMoney(way.net)}
      </div>
    ))

const RefusedCount = ({ of, count }: { readonly of: string; readonly count: number }) =>
  count === 0 ? null : (
    <a href={link('/caixas/recusadas')}>
      <PanelBadge tone="bad">
        <Figure name="recusadas" of={of}>
          {formatCount(count)}
        </Figure>
      </PanelBadge>
    </a>
  )
