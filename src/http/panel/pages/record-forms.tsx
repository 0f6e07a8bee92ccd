import { isRefusal } from '../../../ledger/command.ts'
import { statusOf } from '../../problems.ts'
import { pathId } from '../../route.ts'
import { BEFORE, beforeOf, changedFields, checked, type Filled, filledFrom, filledWith } from '../forms/form.ts'
import type { Page, Submission, Visit } from '../route.ts'
import { Form } from '../ui/form.tsx'
import { type RecordPages, withRecord } from './record-pages.ts'

/** Records that can be changed, or deleted. */
export type Changing<R extends { id: number }> = RecordPages<R> & Required<Pick<RecordPages<R>, 'update'>>
export type Removing<R extends { id: number }> = RecordPages<R> & Required<Pick<RecordPages<R>, 'remove'>>

/** A form to create a record. */
export async function createPage<R extends { id: number }>(
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

/** Creates what the form says, or shows it again. */
export async function create<R extends { id: number }>(pages: RecordPages<R>, submission: Submission) {
  const fields = await pages.fields(submission)
  const parsed = checked(pages.create.schema, fields, submission.form, submission.books.timezone)
  if ('filled' in parsed) return createPage(pages, submission, parsed.filled, 422)
  const answer = await submission.run(pages.create.command, parsed.input)
  if (isRefusal(answer))
    return createPage(pages, submission, filledWith(fields, submission.form, answer), statusOf(answer.refused))
  return { to: `${pages.path}/${(JSON.parse(answer.body) as R).id}`, notice: 'criado' } as const
}

/** A form to change a record. */
export async function editPage<R extends { id: number }>(
  pages: Changing<R>,
  visit: Visit,
  record: R,
  filled?: Filled,
  status?: number,
): Promise<Page> {
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
  return { title: `${pages.update.label}: ${pages.nameOf(record)}`, body, status }
}

/** Changes what somebody has changed in the form, or shows it again. */
export async function update<R extends { id: number }>(pages: Changing<R>, submission: Submission, record: R) {
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

/** Asks before a record is deleted. */
export function removePage<R extends { id: number }>(
  pages: Removing<R>,
  visit: Visit,
  record: R,
  filled?: Filled,
  status?: number,
): Page {
  const { label, question } = pages.remove
  const here = `${pages.path}/${record.id}`
  const body = (
    <Form visit={visit} to={`${here}/excluir`} label={label} filled={filled} isDangerous back={here}>
      <p>{question}</p>
    </Form>
  )
  return { title: `${label}: ${pages.nameOf(record)}`, body, status }
}

/** Deletes a record, or says why not. The command is asked first: what is sent twice finds no record the second time. */
export async function remove<R extends { id: number }>(pages: Removing<R>, submission: Submission) {
  const id = pathId(submission.params.id)
  if (id === null) return null
  const answer = await submission.run(pages.remove.command, { id })
  if (!isRefusal(answer)) return { to: pages.path, notice: pages.remove.notice ?? 'excluido' } as const
  const status = statusOf(answer.refused)
  return withRecord(pages, submission, (r) => removePage(pages, submission, r, filledWith({}, {}, answer), status))
}
