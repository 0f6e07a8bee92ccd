import { isRefusal } from '#ledger/command.ts'
import type { Envelope } from '#ledger/envelope.ts'
import { listHistory } from '#queries/events.ts'
import { dateTimeSeconds } from '../format.ts'
import { link } from '../link.ts'
import type { Visit } from '../route.ts'
import { eventName, ORIGINS } from '../words/events.ts'
import { namesOfActors } from './actors.ts'
import { recordsIn } from './list.tsx'
import { Card } from './parts.tsx'
import { Table } from './table.tsx'

interface HistoryProps {
  readonly visit: Visit
  /** As events name it: `sale/9`. */
  readonly subject: string
}

/** Events shown on a record's page; all of them are in the time line. */
const SHOWN = 50

/** All that happened to a record, from the ledger; the past has no history of its own. */
export async function History({ visit, subject }: HistoryProps) {
  const { books, context } = visit
  if (books.moment) return null
  const page = await listHistory(context, books.companyId, subject, { limit: SHOWN })
  if (!page || isRefusal(page)) return null
  const events = recordsIn<Envelope>(page)
  const actors = await namesOfActors(books, events)
  return (
    <Card title="Histórico">
      <Table
        caption="Histórico"
        rows={events}
        empty="Nada aconteceu ainda."
        columns={[
          { head: 'Quando', cell: (event) => dateTimeSeconds(event.recorded_at, books.timezone) },
          { head: 'O quê', cell: (event) => eventName(event.type) },
          { head: 'Por onde', cell: (event) => ORIGINS[event.origin] },
          { head: 'Quem', cell: (event) => actors(event.actor), isExtra: true },
          {
            head: 'Revisão',
            cell: (event) => <a href={link(visit.path, { em: event.revision })}>{event.revision}</a>,
            isNumber: true,
          },
        ]}
      />
      {page.has_more && <p class="hint">Há mais eventos na auditoria.</p>}
    </Card>
  )
}
