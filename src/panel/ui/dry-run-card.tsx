import { type DryRun, withoutNewIds } from '#ledger/write/idempotency.ts'
import { maskEvents } from '#queries/event-queries.ts'
import type { PageContext } from '../panel-route.ts'
import { ChangeList, describeEventData } from '../record-history.tsx'
import { eventName } from '../words/event-words.ts'
import { Card } from './page-parts.tsx'

/** Events that are shown one by one. */
const SHOWN = 20

/** What a dry run would record, and ask of others. */
interface DryRunCardProps {
  readonly visit: PageContext
  readonly told: readonly DryRun[]
  /** Of lines that would be refused. */
  readonly errors?: readonly { readonly number: number; readonly errors: readonly string[] }[]
}

export async function DryRunCard({ visit, told, errors = [] }: DryRunCardProps) {
  const { reader, timezone } = visit.readModel
  const all = told.flatMap(({ events }) => events)
  const requests = told.flatMap(({ requests }) => requests)
  const events = await maskEvents(reader, all.slice(0, SHOWN))
  return (
    <Card title="O que muda">
      <p role="status">{all.length === 0 ? 'Nada muda.' : 'Nada foi gravado ainda. Ao confirmar:'}</p>
      {events.map(({ type, data }, at) => (
        <section key={`${at} ${type}`}>
          <ChangeList
            caption={eventName(type)}
            changes={describeEventData({ data: withoutNewIds(JSON.stringify(data)) as object }, timezone)}
          />
        </section>
      ))}
      {all.length > SHOWN && <p class="hint">{`E mais ${all.length - SHOWN}.`}</p>}
      {errors.map(({ number, errors: messages }) => (
        <p key={number} class="problem">{`Linha ${number}: ${messages.join('; ')}.`}</p>
      ))}
      {requests.map(({ method, url }) => (
        <p key={url} class="hint">
          Será pedido: <code>{`${method} ${url}`}</code>
        </p>
      ))}
    </Card>
  )
}
