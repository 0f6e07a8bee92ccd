import { eventAt } from '#audit/timeline.ts'
import { streamOf } from '#ledger/envelope.ts'
import { dateTimeSeconds } from '../format.ts'
import { link } from '../link.ts'
import type { Page, PanelRoute, Visit } from '../route.ts'
import { namesOfActors } from '../ui/actors.ts'
import { Actions, ButtonLink, Card, Facts } from '../ui/parts.tsx'
import { eventName, ORIGINS } from '../words/events.ts'
import { subjectName, subjectPath } from '../words/subjects.ts'

/** One event just as it is kept, and as it was hashed. */
async function showEvent(visit: Visit): Promise<Page | null> {
  const { books, context, params } = visit
  if (!/^\d{1,15}$/.test(params.revision ?? '')) return null
  const revision = Number(params.revision)
  const event = await eventAt(context.store, streamOf(books.companyId), revision)
  if (!event) return null
  const actors = await namesOfActors(books, [event])
  const record = subjectPath(event.subject)
  const body = (
    <>
      <Actions>
        <ButtonLink to={record}>{`${subjectName(event.subject)} agora`}</ButtonLink>
        <ButtonLink to={record} parameters={{ em: revision }}>
          Como ficou então
        </ButtonLink>
        {revision > 0 && (
          <ButtonLink to={record} parameters={{ em: revision - 1 }}>
            Como era antes
          </ButtonLink>
        )}
      </Actions>
      <Card title="O que aconteceu">
        <Facts
          facts={[
            ['O quê', eventName(event.type)],
            ['Registro', <a href={link(record)}>{subjectName(event.subject)}</a>],
            ['Quando', dateTimeSeconds(event.recorded_at, books.timezone)],
            ['Por onde', ORIGINS[event.origin]],
            ['Quem', actors(event.actor)],
            ['Requisição', event.request_id],
          ]}
        />
      </Card>
      <Card title="No livro">
        <Facts
          facts={[
            ['Hash', <code>{event.hash}</code>],
            ['Hash do evento anterior', <code>{event.previous_hash}</code>],
          ]}
        />
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard */}
        <pre tabIndex={0}>{JSON.stringify(event, null, 2)}</pre>
      </Card>
    </>
  )
  return { title: `Evento ${revision}`, body }
}

export const eventPage: PanelRoute = {
  path: '/auditoria/eventos/:revision',
  section: 'audit',
  access: 'owner',
  show: showEvent,
}
