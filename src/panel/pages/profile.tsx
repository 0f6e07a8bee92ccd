import { z } from 'zod'
import { changeOwnPassword } from '#access/login.ts'
import { Password } from '#access/passwords.ts'
import type { Refusal } from '#domain/refusal.ts'
import { isRefusal } from '#ledger/command.ts'
import type { Fields } from '../forms/form.ts'
import { passwordInput } from '../forms/kinds.ts'
import type { FormSubmission, PageContext, PanelPage, PanelRoute, Redirect } from '../route.ts'
import { buttonRoute, formPages } from '../ui/form-pages.tsx'
import { Card, Facts } from '../ui/parts.tsx'
import { refusedPassword, SecondFactorsCard } from './second-factors.tsx'
import { endSessions, SessionsCard } from './sessions.tsx'
import { ROLE_NAMES } from './users.tsx'

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
  repeated: { label: 'Senha nova, de novo', kind: passwordInput('new-password'), isRequired: true, columns: 12 },
}

const PasswordForm = z
  .object({ current_password: z.string().max(200), new_password: Password, repeated: z.string() })
  .refine(({ new_password, repeated }) => new_password === repeated, {
    path: ['repeated'],
    message: 'não é igual à senha nova',
  })

const showProfile = async (visit: PageContext): Promise<PanelPage> => ({
  title: 'Minha conta',
  body: (
    <>
      <Card title="Dados">
        <Facts
          facts={[
            ['Nome', visit.session.userName],
            ['E-mail', visit.session.email],
            ['Papel', ROLE_NAMES[visit.session.role]],
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
    { label: 'Trocar de empresa', to: '/empresas' },
  ],
})

/** All sessions of the person end with the old password, including this one. */
async function change(
  { session, context, address, requestId }: FormSubmission,
  { current_password: current, new_password: next }: z.infer<typeof PasswordForm>,
): Promise<Redirect | Refusal> {
  const services = { login: context.panel.login, writer: context.writer }
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
    intro: () => <p>Depois disso é preciso entrar de novo, em todos os navegadores, caixas e empresas.</p>,
    label: 'Trocar senha',
    back: () => PATH,
    fields: () => FIELDS,
    schema: PasswordForm,
    act: (submission, _session, input) => change(submission, input),
  }),
]
