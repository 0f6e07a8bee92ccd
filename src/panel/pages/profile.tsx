import * as z from 'zod'
import { Pin } from '#access/approvals.ts'
import { changeOwnPassword } from '#access/login.ts'
import { hashPassword, Password } from '#access/passwords.ts'
import { changePin } from '#commands/users.ts'
import type { Refusal } from '#domain/refusal.ts'
import { isRefusal } from '#ledger/command.ts'
import type { Fields } from '../forms/form.ts'
import { passwordInput } from '../forms/kinds.ts'
import type { FormSubmission, PageContext, PanelPage, PanelRoute, Redirect } from '../route.ts'
import { buttonRoute, formPages } from '../ui/form-pages.tsx'
import { Card, Facts } from '../ui/parts.tsx'
import { ROLE_NAMES } from '../words/permissions.ts'
import { refusedPassword, SecondFactorsCard } from './second-factors.tsx'
import { endSessions, SessionsCard } from './sessions.tsx'

const PATH = '/conta'
const END_PATH = `${PATH}/encerrar-sessoes`

const FIELDS: Fields = {
  current_password: { label: 'Senha atual', kind: passwordInput('current-password'), isRequired: true, columns: 12 },
  new_password: {
    label: 'Senha nova',
    kind: passwordInput('new-password'),
    isRequired: true,
    columns: 12,
    hint: 'De 8 a 200 caracteres.',
  },
  repeated: { label: 'Confirme a senha', kind: passwordInput('new-password'), isRequired: true, columns: 12 },
}

const PasswordForm = z
  .object({ current_password: z.string().max(200), new_password: Password, repeated: z.string() })
  .refine(({ new_password, repeated }) => new_password === repeated, {
    path: ['repeated'],
    message: 'as senhas não são iguais',
  })

const PIN_FIELDS: Fields = {
  current_password: { label: 'Senha atual', kind: passwordInput('current-password'), isRequired: true, columns: 12 },
  pin: {
    label: 'PIN novo',
    kind: passwordInput('new-password'),
    isRequired: true,
    columns: 6,
    hint: '6 dígitos, sem sequências como 123456.',
  },
  repeated: { label: 'Confirme o PIN', kind: passwordInput('new-password'), isRequired: true, columns: 6 },
}

const PinForm = z
  .object({ current_password: z.string().max(200), pin: Pin, repeated: z.string() })
  .refine(({ pin, repeated }) => pin === repeated, { path: ['repeated'], message: 'os PINs não são iguais' })

/** The password confirms that the session is used by its owner: the PIN approves operations of others. */
async function setPin(
  submission: FormSubmission,
  { current_password: password, pin }: z.infer<typeof PinForm>,
): Promise<Redirect | Refusal> {
  const { session, context, address } = submission
  const confirmed = await context.access.login.confirm({ email: session.email, password }, { address, isInside: true })
  if (confirmed.kind !== 'right') return refusedPassword(confirmed)
  const answer = await submission.run(changePin, { id: session.userId, pin_hash: await hashPassword(pin) })
  return isRefusal(answer) ? answer : { to: PATH, flash: 'pin-alterado' }
}

const showProfile = async (visit: PageContext): Promise<PanelPage> => ({
  title: 'Minha conta',
  body: (
    <>
      <Card title="Dados">
        <Facts
          facts={[
            ['Nome', visit.session.userName],
            ['E-mail', visit.session.email],
            ['Perfil de acesso', ROLE_NAMES[visit.session.role]],
            ['Empresa', visit.session.companyName],
          ]}
        />
      </Card>
      {await SecondFactorsCard({ visit })}
      {await SessionsCard({ visit, of: visit.session, to: END_PATH, endAll: 'Encerrar as outras' })}
    </>
  ),
  more: [
    { label: 'Trocar senha', to: `${PATH}/senha` },
    { label: 'Definir PIN', to: `${PATH}/pin` },
    { label: 'Trocar de empresa', to: '/empresas' },
  ],
})

/** All sessions of the person end with the old password, including this one. */
async function change(
  { session, context, address, requestId }: FormSubmission,
  { current_password: current, new_password: next }: z.infer<typeof PasswordForm>,
): Promise<Redirect | Refusal> {
  const services = { login: context.access.login, writer: context.writer }
  const outcome = await changeOwnPassword(services, session, { current, next }, { address, requestId })
  if (isRefusal(outcome)) return outcome
  return outcome.kind === 'changed' ? { to: '/entrar', flash: 'senha-trocada' } : refusedPassword(outcome)
}

/** The user's own account: password and sessions. */
export const profilePages: readonly PanelRoute[] = [
  { path: PATH, section: 'profile', show: showProfile },
  buttonRoute({
    path: END_PATH,
    changes: false,
    section: 'profile',
    subject: ({ session }) => session,
    act: (submission, own) => endSessions(submission, own, PATH),
  }),
  ...formPages({
    path: `${PATH}/senha`,
    changes: false,
    section: 'profile',
    subject: ({ session }) => session,
    title: () => 'Trocar senha',
    intro: () => <p>Você sairá de todos os aparelhos e caixas.</p>,
    label: 'Trocar senha',
    back: () => PATH,
    fields: () => FIELDS,
    schema: PasswordForm,
    act: (submission, _session, input) => change(submission, input),
  }),
  ...formPages({
    path: `${PATH}/pin`,
    changes: false,
    section: 'profile',
    subject: ({ session }) => session,
    title: () => 'Definir PIN',
    intro: () => <p>Com o PIN você autoriza operações de outras pessoas no painel. Ele não serve para entrar.</p>,
    label: 'Definir PIN',
    back: () => PATH,
    fields: () => PIN_FIELDS,
    schema: PinForm,
    act: (submission, _session, input) => setPin(submission, input),
  }),
]
