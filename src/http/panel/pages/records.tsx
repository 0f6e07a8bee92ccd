import type { ComponentChildren } from 'preact'
import type { z } from 'zod'
import type { Found } from '../../../../queries/get.ts'
import type { Page as ListPage } from '../../../../queries/list.ts'
import type { Refusal } from '../../../domain/refusal.ts'
import { type Command, isRefusal } from '../../../ledger/command.ts'
import { statusOf } from '../../problems.ts'
import { pathId } from '../../route.ts'
import {
  BEFORE,
  beforeOf,
  changedFields,
  checked,
  type Fields,
  type Filled,
  filledFrom,
  filledWith,
} from '../forms/form.ts'
import type { Page, PanelRoute, Section, Submission, Visit } from '../route.ts'
import { AsOfForm } from '../ui/as-of.tsx'
import { Form } from '../ui/form.tsx'
import { History } from '../ui/history.tsx'
import { List, listed } from '../ui/list.tsx'
import { Actions, ButtonLink, Card, Facts } from '../ui/parts.tsx'
import type { Column } from '../ui/table.tsx'

/** Records that people keep in the panel: a list with filters, a page each, forms to create and change, and a question before deleting. */
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
    readonly edit: string
    /** On the button that asks, and the question itself. */
    readonly remove: string
    readonly question: string
    readonly none: string
  }
  readonly list: {
    readonly filters: Fields
    readonly columns: readonly Column<R>[] | ((visit: Visit) => readonly Column<R>[])
    /** The page of a list that the address asks for. */
    page(visit: Visit, filters: Readonly<Record<string, string>>): Promise<ListPage | Refusal>
  }
  get(visit: Visit, id: number): Promise<Found>
  nameOf(record: R): string
  facts(record: R, visit: Visit): readonly (readonly [name: string, value: ComponentChildren])[]
  /** What else its page shows and offers. */
  more?(record: R, visit: Visit): ComponentChildren | Promise<ComponentChildren>
  actions?(record: R, visit: Visit): ComponentChildren
  /** Whether it may be changed and deleted here; always by default. */
  isOpen?(record: R): boolean
  fields(visit: Visit, record?: R): Fields | Promise<Fields>
  // biome-ignore lint/suspicious/noExplicitAny: schema and command agree on a type that the pages need not know
  readonly create: { readonly schema: z.ZodType<any>; readonly command: Command<any> }
  // biome-ignore lint/suspicious/noExplicitAny: as above
  readonly update: { readonly schema: z.ZodType<any>; readonly command: Command<{ id: number; changes: any }> }
  readonly remove: Command<{ id: number }>
}

export function recordPages<R extends { id: number }>(pages: RecordPages<R>): PanelRoute[] {
  const { path, section } = pages
  const at = { section }
  return [
    { ...at, path, asOf: true, show: (visit) => showList(pages, visit) },
    { ...at, path: `${path}/novo`, show: async (visit) => createPage(pages, visit) },
    { ...at, path, submit: (submission) => create(pages, submission) },
    {
      ...at,
      path: `${path}/:id`,
      asOf: true,
      show: (visit) => withRecord(pages, visit, (r) => showRecord(pages, visit, r)),
    },
    { ...at, path: `${path}/:id/editar`, show: (visit) => withRecord(pages, visit, (r) => editPage(pages, visit, r)) },
    { ...at, path: `${path}/:id/editar`, submit: (s) => withRecord(pages, s, (r) => update(pages, s, r)) },
    {
      ...at,
      path: `${path}/:id/excluir`,
      show: (visit) => withRecord(pages, visit, (r) => removePage(pages, visit, r)),
    },
    { ...at, path: `${path}/:id/excluir`, submit: (s) => withRecord(pages, s, (r) => remove(pages, s, r)) },
  ]
}

/** Gets the record that the path names; null where there is none, which becomes a 404. */
async function withRecord<R extends { id: number }, T>(
  pages: RecordPages<R>,
  visit: Visit,
  work: (record: R) => T | Promise<T>,
): Promise<T | null> {
  const id = pathId(visit.params.id)
  const found = id === null ? null : await pages.get(visit, id)
  return found?.record ? work(JSON.parse(found.record) as R) : null
}

async function showList<R extends { id: number }>(pages: RecordPages<R>, visit: Visit): Promise<Page> {
  const { path, words, list } = pages
  const found = await listed<R>(visit, list.filters, (filters) => list.page(visit, filters))
  const columns = typeof list.columns === 'function' ? list.columns(visit) : list.columns
  const body = (
    <>
      {!visit.books.moment && (
        <Actions>
          <ButtonLink to={`${path}/novo`} isMain>
            {words.create}
          </ButtonLink>
        </Actions>
      )}
      <List
        visit={visit}
        filters={list.filters}
        list={found}
        caption={words.all}
        columns={columns}
        empty={words.none}
      />
    </>
  )
  return { title: words.all, body }
}

async function showRecord<R extends { id: number }>(pages: RecordPages<R>, visit: Visit, record: R): Promise<Page> {
  const { path, words, subject } = pages
  const here = `${path}/${record.id}`
  const canChange = !visit.books.moment && (pages.isOpen?.(record) ?? true)
  const body = (
    <>
      <Actions>
        {!visit.books.moment && pages.actions?.(record, visit)}
        {canChange && <ButtonLink to={`${here}/editar`}>{words.edit}</ButtonLink>}
        {canChange && <ButtonLink to={`${here}/excluir`}>{words.remove}</ButtonLink>}
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

async function createPage<R extends { id: number }>(
  pages: RecordPages<R>,
  visit: Visit,
  filled?: Filled,
  status?: number,
): Promise<Page> {
  const { path, words } = pages
  const fields = await pages.fields(visit)
  const shown = filled ?? filledFrom(fields, {}, visit.books.timezone)
  const body = <Form visit={visit} to={path} label="Salvar" fields={fields} filled={shown} back={path} />
  return { title: words.create, body, status }
}

async function create<R extends { id: number }>(pages: RecordPages<R>, submission: Submission) {
  const fields = await pages.fields(submission)
  const parsed = checked(pages.create.schema, fields, submission.form, submission.books.timezone)
  if ('filled' in parsed) return createPage(pages, submission, parsed.filled, 422)
  const answer = await submission.run(pages.create.command, parsed.input)
  if (isRefusal(answer))
    return createPage(pages, submission, filledWith(fields, submission.form, answer), statusOf(answer.refused))
  return { to: `${pages.path}/${(JSON.parse(answer.body) as R).id}`, notice: 'criado' } as const
}

async function editPage<R extends { id: number }>(
  pages: RecordPages<R>,
  visit: Visit,
  record: R,
  filled?: Filled,
  status?: number,
): Promise<Page> {
  const { words } = pages
  const here = `${pages.path}/${record.id}`
  const fields = await pages.fields(visit, record)
  const now = filledFrom(fields, record, visit.books.timezone)
  const body = (
    <Form visit={visit} to={`${here}/editar`} label="Salvar" fields={fields} filled={filled ?? now} back={here}>
      <input
        type="hidden"
        name={BEFORE}
        value={'form' in visit ? String((visit as Submission).form[BEFORE] ?? '') : beforeOf(now)}
      />
    </Form>
  )
  return { title: `${words.edit}: ${pages.nameOf(record)}`, body, status }
}

async function update<R extends { id: number }>(pages: RecordPages<R>, submission: Submission, record: R) {
  const { form, books } = submission
  const fields = await pages.fields(submission, record)
  const parsed = checked(pages.update.schema, changedFields(fields, form), form, books.timezone)
  if ('filled' in parsed)
    return editPage(
      pages,
      submission,
      record,
      { ...filledWith(fields, form), errors: parsed.filled.errors, problem: parsed.filled.problem },
      422,
    )
  const answer = await submission.run(pages.update.command, { id: record.id, changes: parsed.input })
  if (isRefusal(answer))
    return editPage(pages, submission, record, filledWith(fields, form, answer), statusOf(answer.refused))
  return { to: `${pages.path}/${record.id}`, notice: 'alterado' } as const
}

function removePage<R extends { id: number }>(
  pages: RecordPages<R>,
  visit: Visit,
  record: R,
  filled?: Filled,
  status?: number,
): Page {
  const { words } = pages
  const here = `${pages.path}/${record.id}`
  const body = (
    <Form visit={visit} to={`${here}/excluir`} label={words.remove} filled={filled} isDangerous back={here}>
      <p>{words.question}</p>
    </Form>
  )
  return { title: `${words.remove}: ${pages.nameOf(record)}`, body, status }
}

async function remove<R extends { id: number }>(pages: RecordPages<R>, submission: Submission, record: R) {
  const answer = await submission.run(pages.remove, { id: record.id })
  if (isRefusal(answer))
    return removePage(pages, submission, record, filledWith({}, {}, answer), statusOf(answer.refused))
  return { to: pages.path, notice: 'excluido' } as const
}
