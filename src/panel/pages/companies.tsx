import * as z from 'zod'
import type { Membership } from '#access/people.ts'
import { invalid, type Refusal } from '#domain/refusal.ts'
import { Id } from '#domain/text.ts'
import { Problem } from '#http/problems.ts'
import { recordChoiceInput } from '../forms/kinds.ts'
import type { FormSubmission, PanelRoute, Redirect } from '../route.ts'
import { formPages } from '../ui/form-pages.tsx'

/** The person's session goes on as another one, in the company that was chosen. */
async function open(
  { context, session }: FormSubmission,
  memberships: readonly Membership[],
  companyId: number,
): Promise<Redirect | Refusal> {
  const chosen = memberships.find(({ user }) => user.company_id === companyId)
  if (!chosen) return invalid('company_id', 'não é uma das suas empresas')
  if (companyId === session.companyId) return { to: '/' }
  const { login, sessions } = context.access
  const limited = await login.admit(chosen)
  if (limited) throw new Problem('rate_limited', undefined, { 'Retry-After': String(limited.retryAfter) })
  const issued = await sessions.exchange(session, chosen.holder)
  // Null: ended meanwhile, by a new password or by the same form sent twice. The start page asks for the login if there is no other session.
  return issued ? { to: '/', issued } : { to: '/' }
}

/** Companies of a person who belongs to several, to switch between them. */
export const companyPages: readonly PanelRoute[] = formPages({
  path: '/empresas',
  changes: false,
  section: 'profile',
  subject: ({ context, session }) => context.access.login.membershipsOf(session.email),
  title: () => 'Escolher a empresa',
  label: 'Abrir',
  back: () => '/',
  fields: (memberships) => {
    const options = memberships.map(({ companyName, user }) => ({ value: String(user.company_id), label: companyName }))
    return { company_id: { label: 'Empresa', kind: recordChoiceInput(options), isRequired: true, columns: 12 } }
  },
  initial: (_memberships, { session }) => ({ company_id: session.companyId }),
  schema: z.object({ company_id: Id }),
  act: (submission, memberships, { company_id }) => open(submission, memberships, company_id),
})
