import type { ComponentChildren } from 'preact'
import type { z } from 'zod'
import type { CommandWarnings } from '#commands/record-commands.ts'
import type { Refusal } from '#domain/refusals.ts'
import type { Permission } from '#domain/rights.ts'
import { pathId } from '#http/paths.ts'
import { type Command, isRefusal } from '#ledger/command.ts'
import type { Answer } from '#ledger/write/idempotency.ts'
import type { FoundRecords, Page as ListPage } from '#queries/record-queries.ts'
import { type FileColumn, listFile } from '../csv-files.ts'
import type { Fields } from '../forms/panel-form.ts'
import { link } from '../page-context.ts'
import type { FormSubmission, PageContext, PanelPage, PanelRoute, Redirect, Section } from '../panel-route.ts'
import { AsOfForm, History } from '../record-history.tsx'
import { TimeMachine, toPresent } from '../time-machine.tsx'
import type { FlashCode } from '../words/message-words.ts'
import { formPages, removalPages } from './form-pages.tsx'
import type { OptionalColumn } from './list-table.tsx'
import { Alert, Card, type Fact, Facts } from './page-parts.tsx'
import { List, type ListRequest, type QuickFilter, readListPage } from './panel-list.tsx'

type HeadActions = Pick<PanelPage, 'main' | 'more' | 'dangers'>

/**
 * Pages of one kind of record: list with filters, record page, forms to create and update, confirmation of deletion.
 */
export interface RecordPages<R extends { id: number }> {
  /** Path: `/clientes`. */
  readonly path: string
  readonly section: Section
  /** Permission for creating, changing and deleting records. */
  readonly editing: Permission
  /** Kind in events: `customer`. */
  readonly subject: string
  readonly words: {
    readonly all: string
    /** Text of the button and title of the page that create a record. */
    readonly create: string
    /** Nothing matches the filters. */
    readonly none: string
    /** There is no record yet, and what the list will have. */
    readonly begin: readonly [title: string, text: string]
  }
  readonly list: {
    readonly filters: Fields | ((visit: PageContext) => Promise<Fields>)
    /** `rows` are the records of the page. */
    readonly columns:
      | readonly OptionalColumn<R>[]
      | ((
          visit: PageContext,
          rows: readonly R[],
        ) => readonly OptionalColumn<R>[] | Promise<readonly OptionalColumn<R>[]>)
    /** Reads the requested page of the list. */
    page(
      visit: PageContext,
      filters: Readonly<Record<string, string>>,
      wanted: ListRequest,
    ): Promise<ListPage | Refusal>
    /** Summary of all records that match the filters. */
    summary?(visit: PageContext, filters: Readonly<Record<string, string>>): Promise<ComponentChildren>
    /** As in the address. */
    readonly order?: string
    quick?(visit: PageContext): readonly QuickFilter[]
    /** Columns of the file with the filtered records. */
    file(visit: PageContext): readonly FileColumn<R>[]
    /** Actions besides creation. */
    readonly more?: PanelPage['more']
  }
  get(visit: PageContext, id: number): Promise<FoundRecords>
  /** Of the record's page, if deleted records have one too. */
  getShown?(visit: PageContext, id: number): Promise<FoundRecords>
  nameOf(record: R): string
  facts(record: R, visit: PageContext): readonly Fact[] | Promise<readonly Fact[]>
  /** Content above the facts: what is to be checked. */
  notice?(record: R, visit: PageContext): ComponentChildren | Promise<ComponentChildren>
  /** Content below the facts. */
  more?(record: R, visit: PageContext): ComponentChildren | Promise<ComponentChildren>
  /** Actions besides updating and deleting. */
  head?(record: R, visit: PageContext): HeadActions | Promise<HeadActions>
  /** Records whose events belong to its history. */
  related?(record: R, visit: PageContext): Promise<readonly string[]>
  /** Whether the record can be updated and deleted; true by default. */
  isOpen?(record: R): boolean
  fields(visit: PageContext, record?: R): Fields | Promise<Fields>
  /** Message above a form that was refused; undefined: the one of the refusal. */
  problem?(refusal: Refusal, submission: FormSubmission): Promise<ComponentChildren> | ComponentChildren
  readonly create: {
    // biome-ignore lint/suspicious/noExplicitAny: schema and command agree on a type that the pages need not know
    readonly schema: z.ZodType<any>
    // biome-ignore lint/suspicious/noExplicitAny: as above
    readonly command: Command<any>
    readonly flash?: FlashCode
    /** Whether another user may approve what this one may not create. */
    needsApproval?(visit: PageContext): boolean
    /** A second button shows what the form would record. */
    readonly showsChanges?: true
  }
  /** Absent if records cannot be updated. */
  readonly update?: {
    readonly label: string
    // biome-ignore lint/suspicious/noExplicitAny: as above
    readonly schema: z.ZodType<any>
    // biome-ignore lint/suspicious/noExplicitAny: as above
    readonly command: Command<{ id: number; changes: any }>
    /** Whether another user may approve a change that this one may not make. */
    needsApproval?(record: R, visit: PageContext): boolean
  }
  /** Absent if records cannot be deleted. */
  readonly remove?: {
    /** Text of the button that opens the confirmation. */
    readonly label: string
    /** Permission, if it is not that of editing. */
    readonly access?: Permission
    readonly question: string
    /** Content below the question: what speaks against it. */
    intro?(record: R, visit: PageContext): Promise<ComponentChildren>
    inputOf?(form: FormSubmission['form']): object
    readonly flash?: FlashCode
    readonly command: Command<{ id: number }>
    needsApproval?(record: R, visit: PageContext): boolean
  }
}

/** The record of the path; null if there is none. */
export async function loadRecord<R>(
  visit: PageContext,
  get: (visit: PageContext, id: number) => Promise<FoundRecords | null>,
): Promise<R | null> {
  const id = pathId(visit.params.id)
  const found = id === null ? null : await get(visit, id)
  return found?.record ? (JSON.parse(found.record) as R) : null
}

export function recordPages<R extends { id: number }>(pages: RecordPages<R>): PanelRoute[] {
  const { path, section } = pages
  return [
    { section, path, asOf: true, show: (visit) => showList(pages, visit) },
    listFile<R>({ path, section, asOf: true, ...pages.list, columns: pages.list.file }),
    ...createPages(pages),
    { section, path: `${path}/:id`, asOf: true, show: (visit) => showRecord(pages, visit) },
    ...updatePages(pages),
    ...deletePages(pages),
  ]
}

async function showList<R extends { id: number }>(pages: RecordPages<R>, visit: PageContext): Promise<PanelPage> {
  const { path, words, list } = pages
  const filters = typeof list.filters === 'function' ? await list.filters(visit) : list.filters
  const found = await readListPage<R>(visit, filters, list.page, list.summary)
  const columns = typeof list.columns === 'function' ? await list.columns(visit, found.rows) : list.columns
  const isNow = !visit.readModel.moment
  const create = isNow && { label: words.create, to: `${path}/novo` }
  const body = (
    <List
      visit={visit}
      filters={filters}
      list={found}
      caption={words.all}
      columns={columns}
      empty={words.none}
      quick={list.quick?.(visit) ?? []}
      order={list.order}
      begin={{ title: words.begin[0], text: words.begin[1], action: create }}
      file={`${path}.csv`}
    />
  )
  return {
    title: words.all,
    main: create,
    more: isNow ? (list.more ?? []) : [],
    body,
  }
}

async function showRecord<R extends { id: number }>(
  pages: RecordPages<R>,
  visit: PageContext,
): Promise<PanelPage | null> {
  const record = await loadRecord<R>(visit, pages.getShown ?? pages.get)
  if (!record) return null
  const { path, subject } = pages
  const here = `${path}/${record.id}`
  const canChange = !visit.readModel.moment && (pages.isOpen?.(record) ?? true)
  const steps = {
    ...{ visit, subject: `${subject}/${record.id}` },
    others: await pages.related?.(record, toPresent(visit)),
  }
  const body = (
    <>
      {await TimeMachine(steps)}
      {await Duplicate({ pages, visit })}
      {await pages.notice?.(record, visit)}
      <Card title="Dados">
        <Facts facts={await pages.facts(record, visit)} />
      </Card>
      {await pages.more?.(record, visit)}
      {await History(steps)}
      <AsOfForm visit={visit} />
    </>
  )
  const { update, remove } = pages
  const { main, more = [], dangers = [] } = visit.readModel.moment ? {} : ((await pages.head?.(record, visit)) ?? {})
  const edit = canChange && !!update && { label: update.label, to: `${here}/editar` }
  return {
    title: pages.nameOf(record),
    parent: { label: pages.words.all, to: path },
    main: main || edit,
    more: [!!main && edit, ...more],
    dangers: [...dangers, canChange && !!remove && { label: remove.label, to: `${here}/excluir` }],
    body,
  }
}

/** Parameter of a record's page: another record, of which it is a duplicate. */
const DUPLICATE = 'parecido'

/** The page of a saved record, with the record that a warning names. */
export function toSavedRecord(to: string, flash: FlashCode, { meta }: Answer): Redirect {
  const { warnings = [] } = (meta ? JSON.parse(meta) : {}) as Partial<CommandWarnings>
  const other = warnings.find(({ conflicting_id }) => conflicting_id !== undefined)
  return { to, flash, ...(other && { parameters: { [DUPLICATE]: String(other.conflicting_id) } }) }
}

interface DuplicateProps<R extends { id: number }> {
  readonly pages: Pick<RecordPages<R>, 'path' | 'get' | 'nameOf'>
  readonly visit: PageContext
}

/** Leads to the record that a saved one seems to repeat. */
export async function Duplicate<R extends { id: number }>({ pages, visit }: DuplicateProps<R>) {
  const id = pathId(visit.query[DUPLICATE])
  const found = id === null ? null : await pages.get(visit, id)
  if (!found?.record) return null
  const other = JSON.parse(found.record) as R
  return (
    <Alert>
      Parece repetir o cadastro <a href={link(`${pages.path}/${other.id}`)}>{pages.nameOf(other)}</a>. Confira se não
      são o mesmo.
    </Alert>
  )
}

const createPages = <R extends { id: number }>({
  path,
  section,
  editing: access,
  words,
  fields,
  problem,
  create,
}: RecordPages<R>): PanelRoute[] =>
  formPages({
    path: `${path}/novo`,
    to: path,
    section,
    access,
    subject: () => ({}),
    title: () => words.create,
    label: 'Salvar',
    back: () => path,
    fields: (_, visit) => fields(visit),
    ...(create.showsChanges && { showsChanges: true }),
    ...(create.needsApproval && { needsApproval: (_: object, visit: PageContext) => !!create.needsApproval?.(visit) }),
    problem,
    schema: create.schema,
    async act(submission, _, input) {
      const answer = await submission.run(create.command, input)
      if (isRefusal(answer)) return answer
      return toSavedRecord(`${path}/${(answer.record as R).id}`, create.flash ?? 'criado', answer)
    },
  })

/** The command receives only the fields that the user changed. */
function updatePages<R extends { id: number }>(pages: RecordPages<R>): PanelRoute[] {
  const { path, section, editing: access, update } = pages
  if (!update) return []
  return formPages({
    path: `${path}/:id/editar`,
    section,
    access,
    subject: (visit) => loadRecord<R>(visit, pages.get),
    title: (record) => `${update.label} ${pages.nameOf(record)}`,
    label: 'Salvar',
    back: ({ id }) => `${path}/${id}`,
    fields: (record, visit) => pages.fields(visit, record),
    initial: (record) => record,
    isOfChanges: true,
    showsChanges: true,
    ...(update.needsApproval && { needsApproval: update.needsApproval }),
    problem: pages.problem,
    schema: update.schema,
    async act(submission, { id }, changes) {
      const answer = await submission.run(update.command, { id, changes })
      return isRefusal(answer) ? answer : toSavedRecord(`${path}/${id}`, 'alterado', answer)
    },
  })
}

/** Confirmation before a record is deleted. */
function deletePages<R extends { id: number }>(pages: RecordPages<R>): PanelRoute[] {
  const { path, section, editing: access, remove } = pages
  if (!remove) return []
  return removalPages({
    path: `${path}/:id/excluir`,
    section,
    access: remove.access ?? access,
    subject: (visit) => loadRecord<R>(visit, pages.get),
    title: (record) => `${remove.label} ${pages.nameOf(record)}`,
    intro: async (record, visit) => (
      <>
        <p>{remove.question}</p>
        {await remove.intro?.(record, visit)}
      </>
    ),
    inputOf: remove.inputOf,
    label: remove.label,
    back: ({ id }) => `${path}/${id}`,
    command: remove.command,
    ...(remove.needsApproval && { needsApproval: remove.needsApproval }),
    done: { to: path, flash: remove.flash ?? 'excluido' },
  })
}
