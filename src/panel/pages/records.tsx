import type { Page, PanelRoute, Visit } from '../route.ts'
import { AsOfForm } from '../ui/as-of.tsx'
import { History } from '../ui/history.tsx'
import { List, listed } from '../ui/list.tsx'
import { Actions, ButtonLink, Card, Facts } from '../ui/parts.tsx'
import { createPages, deletePages, updatePages } from './record-forms.tsx'
import { type RecordPages, recordOf } from './record-pages.ts'

/** The routes of such records. */
export function recordPages<R extends { id: number }>(pages: RecordPages<R>): PanelRoute[] {
  const { path, section } = pages
  return [
    { section, path, asOf: true, show: (visit) => showList(pages, visit) },
    ...createPages(pages),
    { section, path: `${path}/:id`, asOf: true, show: (visit) => showRecord(pages, visit) },
    ...updatePages(pages),
    ...deletePages(pages),
  ]
}

async function showList<R extends { id: number }>(pages: RecordPages<R>, visit: Visit): Promise<Page> {
  const { path, words, list } = pages
  const filters = typeof list.filters === 'function' ? await list.filters(visit) : list.filters
  const found = await listed<R>(visit, filters, (asked) => list.page(visit, asked))
  const columns = typeof list.columns === 'function' ? list.columns(visit) : list.columns
  const body = (
    <>
      {!visit.books.moment && (
        <Actions>
          <ButtonLink to={`${path}/novo`} isMain>
            {words.create}
          </ButtonLink>
          {list.actions?.(visit)}
        </Actions>
      )}
      <List visit={visit} filters={filters} list={found} caption={words.all} columns={columns} empty={words.none} />
    </>
  )
  return { title: words.all, body }
}

async function showRecord<R extends { id: number }>(pages: RecordPages<R>, visit: Visit): Promise<Page | null> {
  const record = await recordOf<R>(visit, pages.get)
  if (!record) return null
  const { path, subject } = pages
  const here = `${path}/${record.id}`
  const canChange = !visit.books.moment && (pages.isOpen?.(record) ?? true)
  const body = (
    <>
      <Actions>
        {!visit.books.moment && pages.actions?.(record, visit)}
        {canChange && pages.update && <ButtonLink to={`${here}/editar`}>{pages.update.label}</ButtonLink>}
        {canChange && pages.remove && <ButtonLink to={`${here}/excluir`}>{pages.remove.label}</ButtonLink>}
      </Actions>
      <Card title="Dados">
        <Facts facts={pages.facts(record, visit)} />
      </Card>
      {await pages.more?.(record, visit)}
      {await History({ visit, subject: `${subject}/${record.id}` })}
      <AsOfForm visit={visit} />
    </>
  )
  return { title: pages.nameOf(record), body }
}
