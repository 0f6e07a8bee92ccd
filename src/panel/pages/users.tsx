import { z } from 'zod'
import { hashPassword, Password } from '#access/passwords.ts'
import {
  CreateUserInput,
  changePassword,
  createUser,
  deactivateUser,
  reactivateUser,
  updateUser,
} from '#commands/users.ts'
import { invalid } from '#domain/refusal.ts'
import { isRefusal } from '#ledger/command.ts'
import type { UserObject } from '#projections/users.ts'
import { getUser } from '#queries/users.ts'
import { dateTime } from '../format.ts'
import type { Fields } from '../forms/form.ts'
import { choice, email, line, namedOptions, password } from '../forms/kinds.ts'
import { link } from '../link.ts'
import type { Page, PanelRoute, Visit } from '../route.ts'
import { ButtonForm } from '../ui/form.tsx'
import { buttonRoute, formPages, runAndRedirect } from '../ui/form-pages.tsx'
import { History } from '../ui/history.tsx'
import { Table } from '../ui/list.tsx'
import { Actions, ButtonLink, Card, Facts, StateBadge } from '../ui/parts.tsx'
import { recordOf } from '../ui/record-pages.tsx'

export const ROLE_NAMES = { owner: 'Proprietário', clerk: 'Atendente' } as const

const STATES = { active: ['good', 'Ativo'], inactive: ['plain', 'Desativado'] } as const

const HOME = '/configuracoes'
const USERS_PATH = `${HOME}/usuarios`
const ONE = `${USERS_PATH}/:id`
const at = { section: 'settings', access: 'owner' } as const

const name = { label: 'Nome', kind: line, isRequired: true } as const
const role = { label: 'Papel', kind: choice(namedOptions(ROLE_NAMES)), isRequired: true } as const
const secret = {
  label: 'Senha',
  kind: password('new-password'),
  isRequired: true,
  hint: 'De 8 a 200 caracteres. A pessoa pode trocá-la depois.',
} as const
const NEW: Fields = { name, role, email: { label: 'E-mail', kind: email, isRequired: true }, password: secret }

const NewUser = CreateUserInput.omit({ password_hash: true }).extend({ password: Password })
const Changes = CreateUserInput.pick({ name: true, role: true })

type User = Omit<UserObject, 'company_id'>

/** The user that the path names, with times on the company's clock; null where the company has none such. */
const userOf = (visit: Visit): Promise<User | null> =>
  recordOf(visit, ({ readModel }, id) => getUser(readModel.pool, readModel.companyId, id))

const UserBadge = ({ status }: Pick<User, 'status'>) => <StateBadge state={STATES[status]} />

async function showUser(visit: Visit): Promise<Page | null> {
  const user = await userOf(visit)
  if (!user) return null
  const here = `${USERS_PATH}/${user.id}`
  const isActive = user.status === 'active'
  const isSelf = user.id === visit.session.userId
  const body = (
    <>
      <Actions>
        <ButtonLink to={`${here}/editar`}>Editar</ButtonLink>
        <ButtonLink to={isSelf ? '/conta/senha' : `${here}/senha`}>Trocar senha</ButtonLink>
        {!isSelf && (
          <ButtonForm
            visit={visit}
            to={`${here}/${isActive ? 'desativar' : 'reativar'}`}
            label={isActive ? 'Desativar' : 'Reativar'}
          />
        )}
      </Actions>
      <Card title="Dados">
        <Facts
          facts={[
            ['Nome', user.name],
            ['E-mail', user.email],
            ['Papel', ROLE_NAMES[user.role]],
            ['Situação', <UserBadge status={user.status} />],
            ['Cadastro', dateTime(user.created_at, visit.readModel.timezone)],
          ]}
        />
      </Card>
      {await History({ visit, subject: `user/${user.id}` })}
    </>
  )
  return { title: user.name, body }
}

/** People who may log in, their roles and passwords. */
export const userPages: readonly PanelRoute[] = [
  ...formPages({
    ...at,
    path: `${USERS_PATH}/novo`,
    subject: () => ({}),
    title: () => 'Novo usuário',
    label: 'Criar usuário',
    back: () => HOME,
    fields: () => NEW,
    schema: NewUser,
    async act(submission, _, { password: chosen, ...fields }) {
      const password_hash = await hashPassword(chosen)
      return runAndRedirect(submission, createUser, { ...fields, password_hash }, { to: HOME, flash: 'criado' })
    },
  }),
  { ...at, path: ONE, show: showUser },
  ...formPages({
    ...at,
    path: `${ONE}/editar`,
    subject: userOf,
    title: (user) => `Editar ${user.name}`,
    label: 'Salvar',
    back: ({ id }) => `${USERS_PATH}/${id}`,
    fields: () => ({ name, role }),
    initial: (user) => user,
    schema: Changes,
    act: (submission, { id }, changes) =>
      runAndRedirect(submission, updateUser, { id, ...changes }, { to: `${USERS_PATH}/${id}`, flash: 'alterado' }),
  }),
  ...formPages({
    ...at,
    path: `${ONE}/senha`,
    subject: userOf,
    title: (user) => `Nova senha de ${user.name}`,
    intro: () => <p>O que estiver aberto com a senha antiga, no painel e nos caixas, é encerrado.</p>,
    label: 'Trocar senha',
    back: ({ id }) => `${USERS_PATH}/${id}`,
    fields: () => ({ password: secret }),
    schema: z.object({ password: Password }),
    async act(submission, { id }, { password: chosen }) {
      // Whoever finds a panel open must not keep it: the own password takes the old one.
      if (id === submission.session.userId) return invalid('password', 'a própria senha se troca em "Minha conta"')
      const answer = await submission.run(changePassword, { id, password_hash: await hashPassword(chosen) })
      return isRefusal(answer) ? answer : { to: `${USERS_PATH}/${id}`, flash: 'senha-trocada' }
    },
  }),
  buttonRoute({
    ...at,
    path: `${ONE}/desativar`,
    subject: userOf,
    act: (submission, { id }) =>
      runAndRedirect(submission, deactivateUser, { id }, { to: `${USERS_PATH}/${id}`, flash: 'desativado' }),
  }),
  buttonRoute({
    ...at,
    path: `${ONE}/reativar`,
    subject: userOf,
    act: (submission, { id }) =>
      runAndRedirect(submission, reactivateUser, { id }, { to: `${USERS_PATH}/${id}`, flash: 'reativado' }),
  }),
]

export const UserTable = ({ users }: { readonly users: readonly UserObject[] }) => (
  <>
    <Table
      caption="Usuários"
      rows={users}
      empty="Nenhum usuário ainda."
      columns={[
        { head: 'Nome', cell: ({ id, name }) => <a href={link(`${USERS_PATH}/${id}`)}>{name}</a> },
        { head: 'E-mail', cell: ({ email }) => email },
        { head: 'Papel', cell: ({ role }) => ROLE_NAMES[role] },
        { head: 'Situação', cell: ({ status }) => <UserBadge status={status} /> },
      ]}
    />
    <Actions>
      <ButtonLink to={`${USERS_PATH}/novo`} isMain>
        Novo usuário
      </ButtonLink>
    </Actions>
  </>
)
