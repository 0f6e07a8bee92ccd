import { isRefusal } from '#ledger/command.ts'
import type { PanelRoute } from '../route.ts'
import { formPages, removalPages } from './form-pages.ts'
import { type RecordPages, recordOf } from './record-pages.ts'

/** The form to create a record. */
export const createPages = <R extends { id: number }>({
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
      return isRefusal(answer) ? answer : { to: `${path}/${(JSON.parse(answer.body) as R).id}`, notice: 'criado' }
    },
  })

/** The form to change a record, where that can be done: only what somebody has changed in it. */
export function updatePages<R extends { id: number }>(pages: RecordPages<R>): PanelRoute[] {
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
    async act(submission, { id }, changes) {
      const answer = await submission.run(update.command, { id, changes })
      return isRefusal(answer) ? answer : { to: `${path}/${id}`, notice: 'alterado' }
    },
  })
}

/** The question before a record is deleted, where that can be done. */
export function deletePages<R extends { id: number }>(pages: RecordPages<R>): PanelRoute[] {
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
    done: { to: path, notice: remove.notice ?? 'excluido' },
  })
}
