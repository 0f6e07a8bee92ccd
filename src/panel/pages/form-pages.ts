import type { z } from 'zod'
import type { Refusal } from '#domain/refusal.ts'
import { pathId } from '#http/paths.ts'
import { type Command, isRefusal } from '#ledger/command.ts'
import { changedFields, checked, type Fields } from '../forms/form.ts'
import type { FormRoute, Page, PanelRoute, Redirect, Submission } from '../route.ts'
import { refusedPage } from '../ui/refused.tsx'
import { type About, emptyForm, type FormPage, refusedForm } from './form-page.tsx'

/** Does what was asked for. A refusal is shown to whoever has asked; null is a 404. */
type Act<S, A extends unknown[] = []> = (
  submission: Submission,
  subject: S,
  ...input: A
) => Promise<Redirect | Page | Refusal | null>

/** What a form says, and what is done with it. */
interface Sent<S, I> {
  readonly schema: z.ZodType<I>
  readonly act: Act<S, [input: I]>
}

const placeOf = <S>({ path, section, access }: About<S>) => ({ path, section, ...(access && { access }) })

/** A page with one form, and what the form does; it is shown again with what has to be corrected. */
export function formPages<S, I>(pages: FormPage<S> & Sent<S, I>): PanelRoute[] {
  const again = (submission: Submission, subject: S, refusal: Refusal) =>
    refusedForm(pages, submission, subject, refusal)
  return [
    { ...placeOf(pages), show: (visit) => emptyForm(pages, visit) },
    formRoute({ ...pages, path: pages.to ?? pages.path, again }),
  ]
}

/** A form that stands on some page. */
interface FormOfPage<S, I> extends About<S>, Sent<S, I> {
  fields(subject: S, submission: Submission): Fields | Promise<Fields>
  readonly isOfChanges?: boolean
  /** What to show after a refusal: the form, with what it says. */
  again(submission: Submission, subject: S, refusal: Refusal): Promise<Page | null> | Page
}

/** What is done with a form that stands on some page. */
export const formRoute = <S, I>(sent: FormOfPage<S, I>): FormRoute => ({
  ...placeOf(sent),
  async submit(submission) {
    const subject = await sent.subject(submission)
    if (subject === null) return null
    const { form, books } = submission
    const fields = await sent.fields(subject, submission)
    const read = sent.isOfChanges ? changedFields(fields, form) : fields
    const typed = checked(sent.schema, read, form, books.timezone)
    const result = isRefusal(typed) ? typed : await sent.act(submission, subject, typed.input)
    return isRefusal(result) ? sent.again(submission, subject, result) : result
  },
})

/** A button on a record's page that does something at once. */
export const buttonRoute = <S>(button: About<S> & { readonly act: Act<S> }): FormRoute => ({
  ...placeOf(button),
  async submit(submission) {
    const subject = await button.subject(submission)
    if (subject === null) return null
    const result = await button.act(submission, subject)
    return isRefusal(result) ? refusedPage(result) : result
  },
})

/** A page that asks before the record that its path names is removed. */
type RemovalPages<S> = Omit<FormPage<S>, 'fields'> & {
  readonly command: Command<{ id: number }>
  /** Where to go on afterwards. */
  readonly done: Redirect
}

/** A question, and the button that answers it. */
export function removalPages<S>(removal: RemovalPages<S>): PanelRoute[] {
  const page: FormPage<S> = { ...removal, fields: () => ({}), isDangerous: true }
  return [
    { ...placeOf(page), show: (visit) => emptyForm(page, visit) },
    {
      ...placeOf(page),
      // The command is asked first: what is sent twice finds no record the second time.
      async submit(submission) {
        const id = pathId(submission.params.id)
        const answer = id === null ? null : await submission.run(removal.command, { id })
        if (!isRefusal(answer)) return answer && removal.done
        const subject = await page.subject(submission)
        return subject === null ? null : refusedForm(page, submission, subject, answer)
      },
    },
  ]
}
