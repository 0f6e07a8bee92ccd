import type { ComponentChildren } from 'preact'
import type * as z from 'zod'
import { confirmApprover } from '#access/login.ts'
import { type Refusal, refuseField } from '#domain/refusals.ts'
import { getLimit, may, type Permission } from '#domain/rights.ts'
import { pathId } from '#http/paths.ts'
import { toHttpStatus } from '#http/problems.ts'
import { type Command, isRefusal } from '#ledger/command.ts'
import { type DryRun, withoutNewIds } from '#ledger/write/idempotency.ts'
import { maskEvents } from '#queries/event-queries.ts'
import { emailInput, passwordInput } from '../forms/input-kinds.ts'
import {
  BEFORE,
  checkForm,
  type Fields,
  type FilledForm,
  fillFromBody,
  fillFromRecord,
  formatBefore,
  formText,
  pickChangedFields,
  staleFields,
} from '../forms/panel-form.ts'
import type {
  FormRoute,
  FormSubmission,
  PageAccess,
  PageContext,
  PanelPage,
  PanelRoute,
  Redirect,
  Section,
} from '../panel-route.ts'
import { ChangeList, describeEventData } from '../record-history.tsx'
import { eventName } from '../words/event-words.ts'
import { refusalMessage } from '../words/message-words.ts'
import { Form, TRY } from './form-fields.tsx'
import { Alert, ButtonLink, Card } from './page-parts.tsx'

const [EMAIL, SECRET] = ['approver_email', 'approver_secret']

/** Part of a form whose operation another user may approve on the spot. */
const APPROVAL_FIELDS: Fields = {
  [EMAIL]: {
    label: 'E-mail de quem autoriza',
    kind: emailInput,
    group: 'Autorização',
    hint: 'Seu perfil de acesso precisa de autorização para isto.',
  },
  [SECRET]: {
    label: 'PIN ou senha de quem autoriza',
    kind: passwordInput('one-time-code'),
    hint: 'O PIN é definido em Minha conta.',
  },
}

/** Whether a form offers an approval: the permission is missing, or has a limit that the operation may exceed. */
export const offersApproval = ({ session: { permissions } }: PageContext, permission: Permission): boolean =>
  !may(permissions, permission) || getLimit(permissions, permission) !== null

/** The submission with its approver, if it names one; a refusal if that person is not confirmed. */
async function withApproval(submission: FormSubmission): Promise<FormSubmission | Refusal> {
  const { form, context, session, address } = submission
  const [email, secret] = [formText(form, EMAIL).trim(), formText(form, SECRET)]
  if (email === '' && secret === '') return submission
  const services = {
    pool: context.reads.poolOf(session.companyId),
    logins: context.reads.pool,
    login: context.access.login,
  }
  const outcome = await confirmApprover(services, { email, secret }, { ...session, address })
  if (outcome.kind === 'right') return submission.approvedBy(outcome.userId)
  return outcome.kind === 'limited'
    ? refuseField(SECRET, `muitas tentativas: aguarde ${outcome.retryAfter} segundos`)
    : refuseField(SECRET, 'e-mail, PIN ou senha incorretos')
}

/** Events that are shown one by one. */
const SHOWN = 20

/** What a dry run would record, and ask of others. */
interface DryRunCardProps {
  readonly visit: PageContext
  readonly told: readonly DryRun[]
  /** Of lines that would be refused. */
  readonly errors?: readonly { readonly number: number; readonly errors: readonly string[] }[]
}

export async function DryRunCard({ visit, told, errors = [] }: DryRunCardProps) {
  const { reader, timezone } = visit.readModel
  const all = told.flatMap(({ events }) => events)
  const requests = told.flatMap(({ requests }) => requests)
  const events = await maskEvents(reader, all.slice(0, SHOWN))
  return (
    <Card title="O que muda">
      <p role="status">{all.length === 0 ? 'Nada muda.' : 'Nada foi gravado ainda. Ao confirmar:'}</p>
      {events.map(({ type, data }, at) => (
        <section key={`${at} ${type}`}>
          <ChangeList
            caption={eventName(type)}
            changes={describeEventData({ data: withoutNewIds(JSON.stringify(data)) as object }, timezone)}
          />
        </section>
      ))}
      {all.length > SHOWN && <p class="hint">{`E mais ${all.length - SHOWN}.`}</p>}
      {errors.map(({ number, errors: messages }) => (
        <p key={number} class="problem">{`Linha ${number}: ${messages.join('; ')}.`}</p>
      ))}
      {requests.map(({ method, url }) => (
        <p key={url} class="hint">
          Será pedido: <code>{`${method} ${url}`}</code>
        </p>
      ))}
    </Card>
  )
}

/** Subject of a path below the panel, and its access rule. */
interface PathSubject<S> {
  readonly path: string
  readonly section: Section
  readonly access?: PageAccess
  /** Whether it changes records; forms do by default. */
  readonly changes?: boolean
  /** Loads the subject of the path; null is a 404. */
  subject(visit: PageContext): Promise<S | null> | S | null
}

type FormProblem = ComponentChildren | undefined

interface FormPage<S> extends PathSubject<S> {
  /** Path of the form's submission, below the panel; the page's own by default. */
  readonly to?: string
  title(subject: S): string
  /** Reason why the action is impossible at present; shown before the user fills in the form. */
  obstacle?(subject: S): string | null
  /** Alternatives, shown below an obstacle. */
  instead?(subject: S, visit: PageContext): ComponentChildren
  before?(subject: S, visit: PageContext): ComponentChildren | Promise<ComponentChildren>
  /** Inside the form: explanations and hidden fields. */
  intro?(subject: S, visit: PageContext): ComponentChildren | Promise<ComponentChildren>
  /** Inside the form, below its fields. */
  summary?(subject: S, visit: PageContext): ComponentChildren
  readonly label: string | ((subject: S) => string)
  readonly isDangerous?: boolean
  /** Path of the cancel link, below the panel. */
  back(subject: NoInfer<S>): string
  fields(subject: S, visit: PageContext): Fields | Promise<Fields>
  /** Whether another user may approve the operation here, because this one may not do it. */
  needsApproval?(subject: S, visit: PageContext): boolean
  /** Initial values of the fields. */
  initial?(subject: S, visit: PageContext): object
  /**
   * Reads only the fields that the user changed, so that saving does not overwrite concurrent changes of other users.
   */
  readonly isOfChanges?: boolean
  /** A second button shows what the form would change, and changes nothing. */
  readonly showsChanges?: boolean
  /** Message for the whole form; undefined: the message of the refusal. */
  readonly problem?: ((refusal: Refusal, submission: FormSubmission) => FormProblem | Promise<FormProblem>) | undefined
}

/** Fields of the page, with those of an approval if it needs one. */
const fieldsWithApproval = async <S,>(page: FormPage<S>, visit: PageContext, subject: S): Promise<Fields> => ({
  ...(await page.fields(subject, visit)),
  ...(page.needsApproval?.(subject, visit) && APPROVAL_FIELDS),
})

/** The page before a submission. */
async function emptyForm<S>(page: FormPage<S>, visit: PageContext): Promise<PanelPage | null> {
  const subject = await page.subject(visit)
  if (subject === null) return null
  const obstacle = page.obstacle?.(subject) ?? null
  if (obstacle !== null)
    return obstaclePage(page.title(subject), obstacle, page.back(subject), page.instead?.(subject, visit))
  const fields = await fieldsWithApproval(page, visit, subject)
  const filled = fillFromRecord(fields, page.initial?.(subject, visit) ?? {}, visit.readModel.timezone)
  return toFormPage(page, visit, subject, { fields, filled, before: formatBefore(filled) })
}

/** The page with the submitted values and the refusal. */
async function refusedForm<S>(
  page: FormPage<S>,
  submission: FormSubmission,
  subject: S,
  refusal: Refusal,
): Promise<PanelPage> {
  const fields = await fieldsWithApproval(page, submission, subject)
  const filled = fillFromBody(fields, submission.form, refusal)
  const problem = (await page.problem?.(refusal, submission)) ?? filled.problem
  const before = formText(submission.form, BEFORE)
  const shown = await toFormPage(page, submission, subject, { fields, filled, problem, before })
  return { ...shown, status: toHttpStatus(refusal.refused) }
}

/**
 * The form again with the typed values, if a field that the user edited has another value by now than the form had
 * shown, and not the typed one. Sent again it replaces the new value.
 */
async function staleForm<S>(
  page: FormPage<S>,
  submission: FormSubmission,
  subject: S,
  fields: Fields,
): Promise<PanelPage | null> {
  const { form, readModel } = submission
  const present = fillFromRecord(fields, page.initial?.(subject, submission) ?? {}, readModel.timezone)
  const errors = staleFields(fields, form, present)
  if (Object.keys(errors).length === 0) return null
  const problem =
    'Este cadastro mudou enquanto o formulário estava aberto. Confira os campos indicados e envie de novo.'
  const filled = { ...fillFromBody(fields, form), errors, problem }
  const shown = await toFormPage(page, submission, subject, { fields, filled, before: formatBefore(present) })
  return { ...shown, status: 409 }
}

/** The page with the submitted values, before anything is executed. */
async function refilledForm<S>(page: FormPage<S>, submission: FormSubmission): Promise<PanelPage | null> {
  const subject = await page.subject(submission)
  if (subject === null) return null
  if (page.obstacle?.(subject)) return emptyForm(page, submission)
  return filledForm(page, submission, subject)
}

async function filledForm<S>(page: FormPage<S>, submission: FormSubmission, subject: S): Promise<PanelPage> {
  const fields = await fieldsWithApproval(page, submission, subject)
  const filled = fillFromBody(fields, submission.form)
  return toFormPage(page, submission, subject, { fields, filled, before: formText(submission.form, BEFORE) })
}

interface FormContent {
  readonly fields: Fields
  readonly filled: FilledForm
  /** Message for the whole form; that of `filled` by default. */
  readonly problem?: ComponentChildren
  /** Initial values of the controls as JSON. */
  readonly before: string
}

async function toFormPage<S>(
  page: FormPage<S>,
  visit: PageContext,
  subject: S,
  { fields, filled, problem, before }: FormContent,
): Promise<PanelPage> {
  const { label, isDangerous } = page
  const body = (
    <>
      {await page.before?.(subject, visit)}
      <Form
        visit={visit}
        to={page.to ?? visit.path}
        label={typeof label === 'string' ? label : label(subject)}
        fields={fields}
        filled={filled}
        problem={problem}
        isDangerous={isDangerous}
        back={page.back(subject)}
        summary={page.summary?.(subject, visit)}
        showsChanges={page.showsChanges}
      >
        {page.isOfChanges && <input type="hidden" name={BEFORE} value={before} />}
        {await page.intro?.(subject, visit)}
      </Form>
    </>
  )
  return { title: page.title(subject), body }
}

/** Executes the submission. A refusal is shown; null is a 404. */
type Act<S, A extends unknown[] = []> = (
  submission: FormSubmission,
  subject: S,
  ...input: A
) => Promise<Redirect | PanelPage | Refusal | null>

interface SubmitRule<S, I> {
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

const placeOf = <S,>({ path, section, access, changes = true }: PathSubject<S>) => ({
  path,
  section,
  changes,
  ...(access && { access }),
})

/** A page with one form, and its submission. A refused form is shown again with its messages. */
export function formPages<S, I>(pages: FormPage<S> & SubmitRule<S, I>): PanelRoute[] {
  const again = (submission: FormSubmission, subject: S, refusal: Refusal) =>
    refusedForm(pages, submission, subject, refusal)
  return [
    { ...placeOf(pages), show: (visit) => emptyForm(pages, visit) },
    {
      ...formRoute({
        ...pages,
        path: pages.to ?? pages.path,
        again,
        stale: (submission, subject, fields) =>
          pages.isOfChanges ? staleForm(pages, submission, subject, fields) : null,
        async seen(submission, subject, told) {
          const page = await filledForm(pages, submission, subject)
          return { ...page, body: [await DryRunCard({ visit: submission, told }), page.body] }
        },
      }),
      refill: (submission) => refilledForm(pages, submission),
    },
  ]
}

interface FormOfPage<S, I> extends PathSubject<S>, SubmitRule<S, I> {
  fields(subject: S, submission: FormSubmission): Fields | Promise<Fields>
  readonly isOfChanges?: boolean
  needsApproval?(subject: S, visit: PageContext): boolean
  /** The page to show instead if the record has changed since the form was shown; null if it may be saved. */
  stale?(submission: FormSubmission, subject: S, fields: Fields): Promise<PanelPage | null> | PanelPage | null
  readonly showsChanges?: boolean
  /** The page with what a dry run has told. */
  seen?(submission: FormSubmission, subject: S, told: readonly DryRun[]): Promise<PanelPage>
  /** The page with the refused form and its messages. */
  again(submission: FormSubmission, subject: S, refusal: Refusal): Promise<PanelPage | null> | PanelPage
}

/** Submission of a form that is part of another page. */
export const formRoute = <S, I>(sent: FormOfPage<S, I>): FormRoute => ({
  ...placeOf(sent),
  async submit(submission) {
    const subject = await sent.subject(submission)
    if (subject === null) return null
    const { form, readModel } = submission
    const fields = await sent.fields(subject, submission)
    const stale = await sent.stale?.(submission, subject, fields)
    // A form that is sent again has the answer of the first time.
    if (stale && !(await submission.isRepeated())) return stale
    const read = sent.isOfChanges ? pickChangedFields(fields, form) : fields
    const typed = checkForm(sent.schema, read, form, readModel.timezone)
    const told: DryRun[] = []
    const isTried = sent.showsChanges === true && formText(form, TRY) !== ''
    const sending = isTried ? submission.tried(told) : submission
    const act = async ({ input }: { readonly input: I }) => {
      const approved = sent.needsApproval?.(subject, sending) ? await withApproval(sending) : sending
      return isRefusal(approved) ? approved : sent.act(approved, subject, input)
    }
    const result = isRefusal(typed) ? typed : await act(typed)
    if (isRefusal(result)) return sent.again(submission, subject, result)
    return isTried && sent.seen ? sent.seen(submission, subject, told) : result
  },
})

/** Action of a button on a record's page, without confirmation. */
export const buttonRoute = <S,>(button: PathSubject<S> & { readonly act: Act<S> }): FormRoute => ({
  ...placeOf(button),
  async submit(submission) {
    const subject = await button.subject(submission)
    if (subject === null) return null
    const result = await button.act(submission, subject)
    return isRefusal(result) ? refusedPage(result) : result
  },
})

/** Confirmation page before the record of the path is removed. */
type RemovalPages<S> = Omit<FormPage<S>, 'fields'> & {
  readonly command: Command<{ id: number }>
  /** Further input of the command, from the form. */
  inputOf?(form: FormSubmission['form']): object
  readonly done: Redirect
}

/** A confirmation page and its submission. */
export function removalPages<S>(removal: RemovalPages<S>): PanelRoute[] {
  const page: FormPage<S> = { ...removal, fields: () => ({}), isDangerous: true }
  return [
    { ...placeOf(page), show: (visit) => emptyForm(page, visit) },
    {
      ...placeOf(page),
      // The command runs first: otherwise a repeated submission would not find the record and return 404.
      async submit(submission) {
        const id = pathId(submission.params.id)
        const approved = removal.needsApproval ? await withApproval(submission) : submission
        const answer =
          id === null
            ? null
            : isRefusal(approved)
              ? approved
              : await approved.run(removal.command, { id, ...removal.inputOf?.(submission.form) })
        if (!isRefusal(answer)) return answer && removal.done
        const subject = await page.subject(submission)
        return subject === null ? null : refusedForm(page, submission, subject, answer)
      },
    },
  ]
}

/** Page with the refusal of a button's action. */
const refusedPage = (refusal: Refusal): PanelPage => ({
  title: 'Não foi possível concluir',
  body: <Alert>{refusalMessage(refusal)}</Alert>,
  status: toHttpStatus(refusal.refused),
})

/**
 * Page that explains why an action is impossible at present, with alternatives (`instead`). `back` is a path below the
 * panel.
 */
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
