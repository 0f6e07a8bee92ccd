import type { ComponentChildren } from 'preact'
import type { z } from 'zod'
import type { Refusal } from '../../../domain/refusal.ts'
import { isRefusal } from '../../../ledger/command.ts'
import { statusOf } from '../../problems.ts'
import { checked, type Fields, type Filled, filledFrom, filledWith } from '../forms/form.ts'
import type { Access, Page, PanelRoute, Redirect, Section, Submission, Visit } from '../route.ts'
import { Form } from '../ui/form.tsx'

/** A page with one form that is sent to the page's own address, about a subject that the path names. */
export interface FormPages<S, I> {
  readonly path: string
  readonly section: Section
  readonly access?: Access
  /** Finds what the form is about; null is a 404. */
  subject(visit: Visit): Promise<S | null> | S | null
  title(subject: S): string
  /** What to know before one types. */
  intro?(subject: S): ComponentChildren
  /** On the button. */
  readonly label: string
  readonly isDangerous?: boolean
  /** Where to go instead, below the panel. */
  back(subject: S): string
  fields(subject: S): Fields
  /** What stands in the fields at first. */
  initial?(subject: S): object
  readonly schema: z.ZodType<I>
  /** Does it. A refusal shows the form again, with what it says beside the fields. */
  act(submission: Submission, subject: S, input: I): Promise<Redirect | Page | Refusal>
}

export function formPages<S, I>(pages: FormPages<S, I>): PanelRoute[] {
  const { path, section, access } = pages
  const at = { path, section, ...(access && { access }) }
  return [
    {
      ...at,
      async show(visit) {
        const subject = await pages.subject(visit)
        if (subject === null) return null
        return formPage(
          pages,
          visit,
          subject,
          filledFrom(pages.fields(subject), pages.initial?.(subject) ?? {}, visit.books.timezone),
        )
      },
    },
    { ...at, submit: (submission) => submit(pages, submission) },
  ]
}

function formPage<S, I>(pages: FormPages<S, I>, visit: Visit, subject: S, filled: Filled, status = 200): Page {
  const { label, isDangerous } = pages
  const [fields, back] = [pages.fields(subject), pages.back(subject)]
  const form = { visit, to: visit.path, label, fields, filled, back, ...(isDangerous && { isDangerous }) }
  return { title: pages.title(subject), body: <Form {...form}>{pages.intro?.(subject)}</Form>, status }
}

async function submit<S, I>(pages: FormPages<S, I>, submission: Submission): Promise<Page | Redirect | null> {
  const subject = await pages.subject(submission)
  if (subject === null) return null
  const fields = pages.fields(subject)
  const parsed = checked(pages.schema, fields, submission.form, submission.books.timezone)
  if ('filled' in parsed) return formPage(pages, submission, subject, parsed.filled, 422)
  const result = await pages.act(submission, subject, parsed.input)
  if (!isRefusal(result)) return result
  return formPage(pages, submission, subject, filledWith(fields, submission.form, result), statusOf(result.refused))
}
