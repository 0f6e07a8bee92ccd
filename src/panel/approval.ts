import { confirmApprover } from '#access/login.ts'
import { type Refusal, refuseField } from '#domain/refusals.ts'
import { getLimit, may, type Permission } from '#domain/rights.ts'
import { emailInput, passwordInput } from './forms/input-kinds.ts'
import { type Fields, formText } from './forms/panel-form.ts'
import type { FormSubmission, PageContext } from './panel-route.ts'

const [EMAIL, SECRET] = ['approver_email', 'approver_secret']

/** Part of a form whose operation another user may approve on the spot. */
export const APPROVAL_FIELDS: Fields = {
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
export async function withApproval(submission: FormSubmission): Promise<FormSubmission | Refusal> {
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
