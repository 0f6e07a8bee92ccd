import { pathId } from '#http/paths.ts'
import { Problem } from '#http/problems.ts'
import type { Page, PanelRoute, Submission, Visit } from '../route.ts'
import { ButtonForm } from '../ui/form.tsx'
import { buttonRoute } from '../ui/form-pages.tsx'
import { Table } from '../ui/list.tsx'

const PATH = '/empresas'
const at = { section: 'profile' } as const

const membershipsOf = ({ context, session }: Visit) => context.panel.login.membershipsOf(session.email)

async function showCompanies(visit: Visit): Promise<Page> {
  const memberships = await membershipsOf(visit)
  const body = (
    <Table
      caption="Suas empresas"
      rows={memberships}
      empty="Nenhuma empresa."
      columns={[
        { head: 'Empresa', cell: ({ companyName }) => companyName },
        {
          head: 'Abrir',
          cell: ({ companyName, user }) =>
            user.company_id === visit.session.companyId ? (
              'Aberta agora'
            ) : (
              <ButtonForm visit={visit} to={`${PATH}/${user.company_id}/abrir`} label={`Abrir ${companyName}`} />
            ),
        },
      ]}
    />
  )
  return { title: 'Escolher a empresa', body }
}

/** The person's session goes on as another one, in the company that was chosen. */
async function open(submission: Submission, companyId: number) {
  const { context, session } = submission
  const { login, sessions } = context.panel
  const chosen = (await membershipsOf(submission)).find(({ user }) => user.company_id === companyId)
  if (!chosen) return null
  const limited = await login.admit(chosen)
  if (limited) throw new Problem('rate_limited', undefined, { 'Retry-After': String(limited.retryAfter) })
  const issued = await sessions.issue(chosen.holder)
  await sessions.revoke(session)
  return { to: '/', issued }
}

/** One person may belong to several companies: which of them the panel shows. */
export const companyPages: readonly PanelRoute[] = [
  { ...at, path: PATH, show: showCompanies },
  buttonRoute({ ...at, path: `${PATH}/:id/abrir`, subject: ({ params }) => pathId(params.id), act: open }),
]
