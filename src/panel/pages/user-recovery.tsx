import * as z from 'zod'
import { toShopBrand } from '#access/email.ts'
import { LINK_MINUTES } from '#access/one-time-links.ts'
import { recordPasswordLink, recordSecondFactorRemoval } from '#commands/user-commands.ts'
import { formatPersonName } from '#domain/person-values.ts'
import type { Role } from '#domain/rights.ts'
import { isRefusal } from '#ledger/command.ts'
import type { UserObject } from '#projections/users.ts'
import { getUser } from '#queries/company-queries.ts'
import type { PageAction, PageContext, PanelPage, PanelRoute } from '../panel-route.ts'
import { formPages } from '../ui/form-pages.tsx'
import { ButtonLink, Secret } from '../ui/page-parts.tsx'
import { loadRecord } from '../ui/record-pages.tsx'
import { METHOD_NAMES } from './second-factor-pages.tsx'

/** Path of a user's page, below the panel. */
const USER_PATH = '/configuracoes/usuarios/:id'
const at = { section: 'settings', access: 'manage_users' } as const
const pathOf = ({ id }: Pick<UserObject, 'id'>): string => USER_PATH.replace(':id', String(id))

type User = Omit<UserObject, 'company_id'>

interface RecoveredUser {
  readonly id: number
  readonly name: string | null
  readonly role: Role
  /** Null for one who cannot log in, or for the own account. */
  readonly email: string | null
  /** Whether the person belongs to another company too. Its owners have not agreed to what this one decides. */
  readonly isElsewhere: boolean
  readonly hasSecondFactor: boolean
}

/** The shop that the person's e-mail is about. */
const shopOf = ({ session: { companyName: name, logoUrl, brandColor: color }, context }: PageContext) =>
  toShopBrand({ name, logoUrl, color }, context.environment.publicUrl)

/** Another user of the company. */
async function recoveredUser(visit: PageContext): Promise<RecoveredUser | null> {
  const { companyId, userId } = visit.session
  const user: User | null = await loadRecord(visit, ({ readModel }, id) => getUser(readModel.reader, id))
  if (!user) return null
  const { id, name, role } = user
  const email = user.id === userId || user.status !== 'active' ? null : user.email
  if (email === null) return { id, name, role, email, isElsewhere: false, hasSecondFactor: false }
  const { companiesOf, secondFactors } = visit.context.access
  const [companies, methods] = await Promise.all([companiesOf(email), secondFactors.methodsOf([email])])
  const isElsewhere = [...companies].some((company) => company !== companyId)
  return { id, name, role, email, isElsewhere, hasSecondFactor: methods.has(email) }
}

/** The methods of a user's second factors, for people. */
export async function secondFactorText({ context }: PageContext, email: string | null): Promise<string> {
  const methods = email === null ? [] : ((await context.access.secondFactors.methodsOf([email])).get(email) ?? [])
  return methods.length === 0 ? 'Não ativada' : methods.map((method) => METHOD_NAMES[method]).join(', ')
}

/** What owners can do for a user who cannot log in; hidden for the own account. */
export const recoveryActions = (
  { session }: PageContext,
  user: Pick<UserObject, 'id' | 'status'>,
): { readonly link: PageAction | false; readonly removal: PageAction | false } => {
  const isOffered = user.status === 'active' && user.id !== session.userId
  return {
    link: isOffered && { label: 'Link para nova senha', to: `${pathOf(user)}/nova-senha` },
    removal: isOffered && { label: 'Remover verificação em duas etapas', to: `${pathOf(user)}/remover-verificacao` },
  }
}

const ELSEWHERE =
  'Esta pessoa também é usuária de outra empresa, que depende da mesma senha. A própria pessoa pode trocar a senha em "Esqueci a senha" e entrar com um código de recuperação.'

function obstacleOf({ email, isElsewhere }: RecoveredUser): string | null {
  if (email === null) return 'Só para outro usuário, ativo. Para a sua própria conta, use Minha conta.'
  return isElsewhere ? ELSEWHERE : null
}

/** A form that is sent again gets no second link. */
const linkPage = (secret: string | null): PanelPage => ({
  title: 'Link para nova senha',
  body: (
    <>
      {secret === null ? (
        <p>O link já foi mostrado. Se não o copiou, crie outro.</p>
      ) : (
        <Secret title="Link" secret={secret}>
          <p class="hint">{`Mande para a pessoa. Vale por ${LINK_MINUTES} minutos, uma vez. A senha atual vale até lá.`}</p>
        </Secret>
      )}
      <ButtonLink to="/configuracoes">Ir para as configurações</ButtonLink>
    </>
  ),
})

/** An owner helps a user who has lost the password or the device of the second factor. */
export const userRecoveryPages: readonly PanelRoute[] = [
  ...formPages({
    ...at,
    path: `${USER_PATH}/nova-senha`,
    subject: recoveredUser,
    title: ({ name }) => `Nova senha de ${formatPersonName(name)}`,
    obstacle: obstacleOf,
    intro: () => (
      <p>
        Você recebe um link para mandar à pessoa, que escolhe a nova senha. Quando o link for usado, a pessoa sai do
        painel e dos caixas.
      </p>
    ),
    label: 'Criar link',
    back: pathOf,
    fields: () => ({}),
    schema: z.object({}),
    async act(submission, user) {
      const { context, session, run } = submission
      if (user.email === null || user.isElsewhere) return null
      const answer = await run(recordPasswordLink, { id: user.id })
      if (isRefusal(answer)) return answer
      if (answer.replayed) return linkPage(null)
      const secret = await context.access.passwordLinks.issue(user.email, {
        companyId: session.companyId,
        madeBy: session.userId,
        role: user.role,
      })
      if (secret === null) return { to: pathOf(user), flash: 'sem-alteracao' }
      context.access.secondFactors.notify(user.email, {
        kind: 'password_link_created',
        shop: shopOf(submission),
      })
      return linkPage(secret)
    },
  }),
  ...formPages({
    ...at,
    path: `${USER_PATH}/remover-verificacao`,
    subject: recoveredUser,
    title: ({ name }) => `Remover a verificação em duas etapas de ${formatPersonName(name)}`,
    obstacle: (user) =>
      obstacleOf(user) ?? (user.hasSecondFactor ? null : 'A verificação em duas etapas não está ativada.'),
    intro: () => (
      <p>
        Para quem perdeu o aparelho e os códigos de recuperação. A pessoa entra só com a senha até ativar de novo. As
        sessões abertas dela no painel são encerradas e ela recebe um aviso por e-mail.
      </p>
    ),
    label: 'Remover',
    isDangerous: true,
    back: pathOf,
    fields: () => ({}),
    schema: z.object({}),
    async act(submission, user) {
      const { context, session, run } = submission
      if (user.email === null || user.isElsewhere) return null
      const answer = await run(recordSecondFactorRemoval, { id: user.id, method: null })
      if (isRefusal(answer)) return answer
      const { secondFactors, sessions } = context.access
      await secondFactors.remove(user.email, null)
      await sessions.end({ companyId: session.companyId, userId: user.id }, { allBut: null })
      if (!answer.replayed)
        secondFactors.notify(user.email, {
          kind: 'second_factor_removed_by_owner',
          shop: shopOf(submission),
        })
      return { to: pathOf(user), flash: 'etapa-removida' }
    },
  }),
]
