import type { ComponentChildren } from 'preact'
import type { z } from 'zod'
import { pathId } from '#http/paths.ts'
import { type Command, isRefusal } from '#ledger/command.ts'
import type { Found } from '#queries/records.ts'
import type { Fields } from '../forms/form.ts'
import type { Page, PanelRoute, Section, Visit } from '../route.ts'
import type { FlashCode } from '../words/flashes.ts'
import { formPages, removalPages, runAndRedirect } from './form-pages.tsx'
import { AsOfForm, History } from './history.tsx'
import { type AskList, type Column, List, listed } from './list.tsx'
import { Actions, ButtonLink, Card, type Fact, Facts } from './parts.tsx'

/** The pages of one kind of record: list with filters, one page each, forms to create and change, question before deleting. */
export interface RecordPages<R extends { id: number }> {
  /** `/clientes` */
  readonly path: string
  readonly section: Section
  /** As events call it: `customer`. */
  readonly subject: string
  readonly words: {
    readonly all: string
    /** On the button and the page that creates one. */
    readonly create: string
    readonly none: string
  }
  readonly list: {
    readonly filters: Fields | ((visit: Visit) => Promise<Fields>)
    readonly columns: readonly Column<R>[] | ((visit: Visit) => readonly Column<R>[])
    /** The page of a list that the address asks for. */
    page(visit: Visit, filters: Readonly<Record<string, string>>): ReturnType<AskList>
    /** Buttons beside the one that creates. */
    actions?(visit: Visit): ComponentChildren
  }
  get(visit: Visit, id: number): Promise<Found>
  nameOf(record: R): string
  facts(record: R, visit: Visit): readonly Fact[]
  /** Shown below its facts. */
  more?(record: R, visit: Visit): ComponentChildren | Promise<ComponentChildren>
  actions?(record: R, visit: Visit): ComponentChildren
  /** Whether it may be changed and deleted; always by default. */
  isOpen?(record: R): boolean
  fields(visit: Visit, record?: R): Fields | Promise<Fields>
  // biome-ignore lint/suspicious/noExplicitAny: schema and command agree on a type that the pages need not know
  readonly create: { readonly schema: z.ZodType<any>; readonly command: Command<any> }
  /** Without it, records cannot be changed. */
  readonly update?: {
    readonly label: string
    // biome-ignore lint/suspicious/noExplicitAny: as above
    readonly schema: z.ZodType<any>
    // biome-ignore lint/suspicious/noExplicitAny: as above
    readonly command: Command<{ id: number; changes: any }>
  }
  /** Without it, records cannot be deleted. */
  readonly remove?: {
    /** On the button that leads to the question. */
    readonly label: string
    readonly question: string
    readonly flash?: FlashCode
    readonly command: Command<{ id: number }>
  }
}

/** The record that the path names; null where there is none. */
export async function recordOf<R>(
  visit: Visit,
  get: (visit: Visit, id: number) => Promise<Found | null>,
): Promise<R | null> {
  const id = pathId(visit.params.id)
  const found = id === null ? null : await get(visit, id)
  return found?.record ? (JSON.parse(found.record) as R) : null
}

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
      {!visit.readModel.moment && (
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
  const canChange = !visit.readModel.moment && (pages.isOpen?.(record) ?? true)
  const body = (
    <>
      <Actions>
        {!visit.readModel.moment && pages.actions?.(record, visit)}
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

const createPages = <R extends { id: number }>({
  path,
  section,
  words,
  fields,
  create,
}: RecordPages<R>): PanelRoute[] =>
  formPages({
    path: `${path}/novo`,
    to: path,
    section,
    subject: () => ({}),
    title: () => words.create,
    label: 'Salvar',
    back: () => path,
    fields: (_, visit) => fields(visit),
    schema: create.schema,
    async act(submission, _, input) {
      const answer = await submission.run(create.command, input)
      return isRefusal(answer) ? answer : { to: `${path}/${(JSON.parse(answer.body) as R).id}`, flash: 'criado' }
    },
  })

/** The form sends only what somebody has changed in it. */
function updatePages<R extends { id: number }>(pages: RecordPages<R>): PanelRoute[] {
  const { path, section, update } = pages
  if (!update) return []
  return formPages({
    path: `${path}/:id/editar`,
    section,
    subject: (visit) => recordOf<R>(visit, pages.get),
    title: (record) => `${update.label}: ${pages.nameOf(record)}`,
    label: 'Salvar',
    back: ({ id }) => `${path}/${id}`,
    fields: (record, visit) => pages.fields(visit, record),
    initial: (record) => record,
    isOfChanges: true,
    schema: update.schema,
    act: (submission, { id }, changes) =>
      runAndRedirect(submission, update.command, { id, changes }, { to: `${path}/${id}`, flash: 'alterado' }),
  })
}

/** The question before a record is deleted. */
function deletePages<R extends { id: number }>(pages: RecordPages<R>): PanelRoute[] {
  const { path, section, remove } = pages
  if (!remove) return []
  return removalPages({
    path: `${path}/:id/excluir`,
    section,
    subject: (visit) => recordOf<R>(visit, pages.get),
    title: (record) => `${remove.label}: ${pages.nameOf(record)}`,
    intro: () => <p>{remove.question}</p>,
    label: remove.label,
    back: ({ id }) => `${path}/${id}`,
    command: remove.command,
    done: { to: path, flash: remove.flash ?? 'excluido' },
  })
}
