import type { ComponentChildren } from 'preact'
import type { z } from 'zod'
import type { Refusal } from '#domain/refusal.ts'
import { pathId } from '#http/paths.ts'
import { httpStatusOf } from '#http/problems.ts'
import { type Command, isRefusal } from '#ledger/command.ts'
import {
  BEFORE,
  beforeOf,
  changedFields,
  checkForm,
  type Fields,
  type Filled,
  filledFrom,
  filledWith,
  formText,
} from '../forms/form.ts'
import type {
  FormRoute,
  FormSubmission,
  PageAccess,
  PageContext,
  PanelPage,
  PanelRoute,
  Redirect,
  Section,
} from '../route.ts'
import { refusalMessage } from '../words/problems.ts'
import { Form } from './form.tsx'
import { Alert, ButtonLink } from './parts.tsx'

/** What a path below the panel is about, and who may open it. */
interface About<S> {
  readonly path: string
  readonly section: Section
  readonly access?: PageAccess
  /** Whether it changes records; forms do by default. */
  readonly changes?: boolean
  /** Finds what the path names; null is a 404. */
  subject(visit: PageContext): Promise<S | null> | S | null
}

interface FormPage<S> extends About<S> {
  /** Path that the form is sent to, below the panel: the page's own by default. */
  readonly to?: string
  title(subject: S): string
  /** Why it cannot be done as things stand: said at once, rather than when somebody has filled in the form. */
  obstacle?(subject: S): string | null
  /** What can be done in its place, below an obstacle. */
  instead?(subject: S, visit: PageContext): ComponentChildren
  before?(subject: S, visit: PageContext): ComponentChildren
  /** Inside the form: explanations and hidden fields. */
  intro?(subject: S): ComponentChildren
  readonly label: string | ((subject: S) => string)
  readonly isDangerous?: boolean
  /** Page to go back to instead, below the panel. */
  back(subject: NoInfer<S>): string
  fields(subject: S, visit: PageContext): Fields | Promise<Fields>
  /** Initial values of the fields. */
  initial?(subject: S, visit: PageContext): object
  /** Reads only the fields that somebody has changed, so that saving does not undo what others have changed meanwhile. */
  readonly isOfChanges?: boolean
  /** What a refusal means for the whole form; undefined: what the refusal itself says. */
  problem?(refusal: Refusal): string | undefined
}

/** The page before anything was sent. */
async function emptyForm<S>(page: FormPage<S>, visit: PageContext): Promise<PanelPage | null> {
  const subject = await page.subject(visit)
  if (subject === null) return null
  const obstacle = page.obstacle?.(subject) ?? null
  if (obstacle !== null)
    return obstaclePage(page.title(subject), obstacle, page.back(subject), page.instead?.(subject, visit))
  const fields = await page.fields(subject, visit)
  const filled = filledFrom(fields, page.initial?.(subject, visit) ?? {}, visit.readModel.timezone)
  return drawn(page, visit, subject, { fields, filled, before: beforeOf(filled) })
}

/** The page as it was sent, with what has to be corrected. */
async function refusedForm<S>(
  page: FormPage<S>,
  submission: FormSubmission,
  subject: S,
  refusal: Refusal,
): Promise<PanelPage> {
  const fields = await page.fields(subject, submission)
  const filled = filledWith(fields, submission.form, refusal)
  const problem = page.problem?.(refusal) ?? filled.problem
  const before = formText(submission.form, BEFORE)
  const shown = drawn(page, submission, subject, { fields, filled: { ...filled, problem }, before })
  return { ...shown, status: httpStatusOf(refusal.refused) }
}

/** The page as it was sent, before anything is done. */
async function refilledForm<S>(page: FormPage<S>, submission: FormSubmission): Promise<PanelPage | null> {
  const subject = await page.subject(submission)
  if (subject === null) return null
  if (page.obstacle?.(subject)) return emptyForm(page, submission)
  const fields = await page.fields(subject, submission)
  const filled = filledWith(fields, submission.form)
  return drawn(page, submission, subject, { fields, filled, before: formText(submission.form, BEFORE) })
}

interface Drawn {
  readonly fields: Fields
  readonly filled: Filled
  /** Initial values of the controls, as JSON. */
  readonly before: string
}

function drawn<S>(page: FormPage<S>, visit: PageContext, subject: S, { fields, filled, before }: Drawn): PanelPage {
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

/** Does what was submitted. A refusal is shown; null is a 404. */
type Act<S, A extends unknown[] = []> = (
  submission: FormSubmission,
  subject: S,
  ...input: A
) => Promise<Redirect | PanelPage | Refusal | null>

interface Sent<S, I> {
  readonly schema: z.ZodType<I>
  readonly act: Act<S, [input: I]>
}

/** Runs a command, then redirects. */
export async function runAndRedirect<I>(
  submission: FormSubmission,
  command: Command<I>,
  input: I,
  redirect: Redirect,
): Promise<Redirect | Refusal> {
  const answer = await submission.run(command, input)
  return isRefusal(answer) ? answer : redirect
}

const placeOf = <S,>({ path, section, access, changes = true }: About<S>) => ({
  path,
  section,
  changes,
  ...(access && { access }),
})

/** A page with one form, and what the form does. A refused form is shown again with what has to be corrected. */
export function formPages<S, I>(pages: FormPage<S> & Sent<S, I>): PanelRoute[] {
  const again = (submission: FormSubmission, subject: S, refusal: Refusal) =>
    refusedForm(pages, submission, subject, refusal)
  return [
    { ...placeOf(pages), show: (visit) => emptyForm(pages, visit) },
    {
      ...formRoute({ ...pages, path: pages.to ?? pages.path, again }),
      refill: (submission) => refilledForm(pages, submission),
    },
  ]
}

interface FormOfPage<S, I> extends About<S>, Sent<S, I> {
  fields(subject: S, submission: FormSubmission): Fields | Promise<Fields>
  readonly isOfChanges?: boolean
  /** The page with the form, and what the refusal says of it. */
  again(submission: FormSubmission, subject: S, refusal: Refusal): Promise<PanelPage | null> | PanelPage
}

/** What a form does that is part of another page. */
export const formRoute = <S, I>(sent: FormOfPage<S, I>): FormRoute => ({
  ...placeOf(sent),
  async submit(submission) {
    const subject = await sent.subject(submission)
    if (subject === null) return null
    const { form, readModel } = submission
    const fields = await sent.fields(subject, submission)
    const read = sent.isOfChanges ? changedFields(fields, form) : fields
    const typed = checkForm(sent.schema, read, form, readModel.timezone)
    const result = isRefusal(typed) ? typed : await sent.act(submission, subject, typed.input)
    return isRefusal(result) ? sent.again(submission, subject, result) : result
  },
})

/** What a button on a record's page does, without asking. */
export const buttonRoute = <S,>(button: About<S> & { readonly act: Act<S> }): FormRoute => ({
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
  readonly done: Redirect
}

/** A question, and the button that answers it. */
export function removalPages<S>(removal: RemovalPages<S>): PanelRoute[] {
  const page: FormPage<S> = { ...removal, fields: () => ({}), isDangerous: true }
  return [
    { ...placeOf(page), show: (visit) => emptyForm(page, visit) },
    {
      ...placeOf(page),
      // The command runs first: a form that is sent twice would find no record the second time, and be a 404.
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

/** Why a button did nothing. */
const refusedPage = (refusal: Refusal): PanelPage => ({
  title: 'Não foi possível concluir',
  body: <Alert>{refusalMessage(refusal)}</Alert>,
  status: httpStatusOf(refusal.refused),
})

/** Why something cannot be done as things stand, and what can `instead`. `back` is a path below the panel. */
export const obstaclePage = (
  title: string,
  obstacle: string,
  back: string,
  instead?: ComponentChildren,
): PanelPage => ({
  title,
  body: (
    <>
      <Alert>{obstacle}</Alert>
      <div class="actions">
        {instead}
        <ButtonLink to={back}>Voltar</ButtonLink>
      </div>
    </>
  ),
})
