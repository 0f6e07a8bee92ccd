import { timeline } from '#audit/timeline.ts'
import { headOf } from '#audit/verify.ts'
import { describeIssues } from '#domain/validation.ts'
import type { Envelope } from '#ledger/envelope.ts'
import { dateTimeSeconds } from '../format.ts'
import { filledWith } from '../forms/form.ts'
import { link } from '../link.ts'
import type { Page, PanelRoute, Visit } from '../route.ts'
import { namesOfActors } from '../ui/actors.ts'
import { ButtonForm, Filters } from '../ui/form.tsx'
import { Actions, Alert, ButtonLink } from '../ui/parts.tsx'
import { Table } from '../ui/table.tsx'
import { eventName, ORIGINS } from '../words/events.ts'
import { subjectName, subjectPath } from '../words/subjects.ts'
import { TimelineQuery, timelineFields, timelineFiltersOf } from './audit-filters.ts'

const PATH = '/auditoria'
const EVENTS_OF_A_PAGE = 50

/** The ledger as a time line, the newest first. */
async function showTimeline(visit: Visit): Promise<Page> {
  const asked = Object.fromEntries(Object.entries(visit.query).filter(([, value]) => value !== ''))
  const query = TimelineQuery.safeParse(asked)
  const filled = query.success
    ? filledWith(timelineFields, asked)
    : filledWith(timelineFields, asked, { refused: 'validation_failed', details: { ...describeIssues(query.error) } })
  const body = (
    <>
      <Actions>
        <ButtonForm visit={visit} to={`${PATH}/conferir`} label="Conferir o livro" />
        <ButtonLink to={`${PATH}/como-era`}>Como era em…</ButtonLink>
      </Actions>
      <Filters path={PATH} fields={timelineFields} filled={filled} target="livro" />
      <div id="livro">{query.success ? await events(visit, query.data) : <Alert>{filled.problem}</Alert>}</div>
    </>
  )
  return { title: 'Auditoria', body }
}

async function events(visit: Visit, { antes, ...asked }: ReturnType<typeof TimelineQuery.parse>) {
  const { books, context } = visit
  const { revision } = await headOf(books.pool, books.companyId)
  const before = Math.min(antes === undefined ? revision + 1 : Number(antes), revision + 1)
  const filters = timelineFiltersOf(asked, books.timezone)
  const found = await timeline(context.store, books.companyId, before, filters, EVENTS_OF_A_PAGE)
  const actors = await namesOfActors(books, found.events)
  return (
    <>
      <Table
        caption="Linha do tempo do livro"
        rows={found.events}
        empty="Nenhum acontecimento nesta parte do livro."
        columns={[
          { head: 'Revisão', cell: (event) => <EventLink event={event} />, isNumber: true },
          { head: 'Quando', cell: (event) => dateTimeSeconds(event.recorded_at, books.timezone) },
          { head: 'O quê', cell: (event) => eventName(event.type) },
          { head: 'Registro', cell: ({ subject }) => <a href={link(subjectPath(subject))}>{subjectName(subject)}</a> },
          { head: 'Por onde', cell: (event) => ORIGINS[event.origin], isExtra: true },
          { head: 'Quem', cell: (event) => actors(event.actor), isExtra: true },
        ]}
      />
      <nav class="pager" aria-label="Páginas">
        {antes !== undefined && <a href={link(PATH, asked)}>« Mais recentes</a>}
        {found.before !== null && (
          <a href={link(PATH, { ...asked, antes: found.before })} rel="next">
            Anteriores »
          </a>
        )}
      </nav>
    </>
  )
}

const EventLink = ({ event }: { readonly event: Envelope }) => (
  <a href={link(`${PATH}/eventos/${event.revision}`)}>{event.revision}</a>
)

export const timelinePage: PanelRoute = { path: PATH, section: 'audit', access: 'owner', show: showTimeline }
