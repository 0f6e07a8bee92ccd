import type { ComponentChildren } from 'preact'
import type { Refusal } from '#domain/refusal.ts'
import { statusOf } from '#http/problems.ts'
import { textOf } from '../forms/body.ts'
import { BEFORE, beforeOf, type Fields, type Filled, filledFrom, filledWith } from '../forms/form.ts'
import type { Access, Page, Section, Submission, Visit } from '../route.ts'
import { Form } from '../ui/form.tsx'
import { obstaclePage } from '../ui/refused.tsx'

/** Something that a path below the panel names, and who may come there. */
export interface About<S> {
  readonly path: string
  readonly section: Section
  readonly access?: Access
  /** Finds what the path names; null is a 404. */
  subject(visit: Visit): Promise<S | null> | S | null
}

/** A page with one form. */
export interface FormPage<S> extends About<S> {
  /** Where the form is sent to, below the panel: the page's own address by default. */
  readonly to?: string
  title(subject: S): string
  /** Why nothing can be done as things stand, said at once rather than when somebody has filled in the form. */
  obstacle?(subject: S): string | null
  /** What stands before the form. */
  before?(subject: S, visit: Visit): ComponentChildren
  /** In the form: what to know before one types, and what it sends unseen. */
  intro?(subject: S): ComponentChildren
  /** On the button. */
  readonly label: string | ((subject: S) => string)
  readonly isDangerous?: boolean
  /** Where to go instead, below the panel. */
  back(subject: NoInfer<S>): string
  fields(subject: S, visit: Visit): Fields | Promise<Fields>
  /** What stands in the fields at first. */
  initial?(subject: S, visit: Visit): object
  /** Only what somebody has changed in it is read, so that saving it takes nothing back that others have changed meanwhile. */
  readonly isOfChanges?: boolean
  /** What a refusal means here, said of the whole; undefined for what it says itself. */
  problem?(refusal: Refusal): string | undefined
}

/** The page before anybody has typed. */
export async function emptyForm<S>(page: FormPage<S>, visit: Visit): Promise<Page | null> {
  const subject = await page.subject(visit)
  if (subject === null) return null
  const obstacle = page.obstacle?.(subject) ?? null
  if (obstacle !== null) return obstaclePage(page.title(subject), obstacle, page.back(subject))
  const fields = await page.fields(subject, visit)
  const filled = filledFrom(fields, page.initial?.(subject, visit) ?? {}, visit.books.timezone)
  return drawn(page, visit, subject, { fields, filled, before: beforeOf(filled) })
}

/** The page as it was sent, with what has to be corrected. */
export async function refusedForm<S>(
  page: FormPage<S>,
  submission: Submission,
  subject: S,
  refusal: Refusal,
): Promise<Page> {
  const fields = await page.fields(subject, submission)
  const filled = filledWith(fields, submission.form, refusal)
  const problem = page.problem?.(refusal) ?? filled.problem
  const before = textOf(submission.form, BEFORE)
  const shown = drawn(page, submission, subject, { fields, filled: { ...filled, problem }, before })
  return { ...shown, status: statusOf(refusal.refused) }
}

interface Drawn {
  readonly fields: Fields
  readonly filled: Filled
  /** What the controls held at first. */
  readonly before: string
}

function drawn<S>(page: FormPage<S>, visit: Visit, subject: S, { fields, filled, before }: Drawn): Page {
  const { label, isDangerous } = page
  const body = (
    <>
      {page.before?.(subject, visit)}
      <Form
        visit={visit}
        to={page.to ?? visit.path}
        label={typeof label === 'string' ? label : label(subject)}
        fields={fields}
        filled={filled}
        isDangerous={isDangerous}
        back={page.back(subject)}
      >
        {page.isOfChanges && <input type="hidden" name={BEFORE} value={before} />}
        {page.intro?.(subject)}
      </Form>
    </>
  )
  return { title: page.title(subject), body }
}
