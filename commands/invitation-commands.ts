import type * as z from 'zod'
import { type Refusal, refuse, refuseForgotten } from '#domain/refusals.ts'
import { event } from '#events/catalogue.ts'
import { accept, command, type DecisionContext, isRefusal, type PrivateRow } from '#ledger/command.ts'
import type { Rows } from '#ledger/working-set.ts'
import { ownCompany } from '#projections/companies.ts'
import {
  type Invitation,
  type InvitationCount,
  invitationByUser,
  invitationCounts,
  invitations,
  ownInvitationCount,
  personByEmail,
  type UserObject,
  userByEmail,
  userById,
} from '#projections/users.ts'
import type { RecordId } from './record-commands.ts'
import { describeRole, permitRole } from './role-commands.ts'
import {
  CreateUserInput,
  isMakerHeld,
  type OtherCompany,
  otherCompaniesLookup,
  refuseTakenEmail,
  termsFor,
} from './user-commands.ts'

/** Validity of a link. */
export const INVITATION_DAYS = 7
/** Limit per company and hour, renewals included: each sends an e-mail to an address that may not want it. */
export const INVITATIONS_PER_HOUR = 20

const HOUR_MS = 3_600_000

/** Fields of an invitation. */
export const InviteFields = CreateUserInput.omit({ password_hash: true })

/** A link: the hash of its token, which only the caller knows. */
interface LinkInput {
  readonly token_hash: Buffer
}
type InviteInput = z.infer<typeof InviteFields> & LinkInput

/**
 * Invites a person to the company. The answer does not reveal whether the address has a login; accepting the invitation
 * does.
 */
export const inviteUser = command<InviteInput>({
  permission: 'manage_users',
  needs: ({ email }) => [ownCompany, userByEmail(email), ownInvitationCount],
  lookup: (_, { email }) => otherCompaniesLookup(email),
  decide(rows, { token_hash, name, email, role, ...given }, context) {
    const permitted = permitRole(rows, context.permit, role)
    if (isRefusal(permitted)) return permitted
    const terms = termsFor(rows, role, given, context.recordedAt)
    if (isRefusal(terms)) return terms
    const refusal = refuseTakenEmail(rows, email) ?? tooMany(rows, context)
    if (refusal) return refusal
    const invited = event('UserInvited', {
      id: context.nextId('user'),
      name,
      email,
      ...describeRole(rows, role),
      ...terms,
    })
    const id = (invited.data as RecordId).id
    return accept('created', invited.subject, [invited], linkRows(rows, { id, role }, token_hash, context))
  },
})

/** Renews an invitation, cancelled and expired ones included. The previous link stops working. */
export const renewInvitation = command<RecordId & LinkInput>({
  permission: 'manage_users',
  needs: ({ id }) => [ownCompany, userById(id), ownInvitationCount],
  lookup: (rows, { id }) => otherCompaniesLookup(rows.get(userById(id))?.doc.email),
  decide(rows, { id, token_hash }, context) {
    const user = rows.get(userById(id))?.doc
    if (user?.status !== 'invited' && user?.status !== 'cancelled') return refuse('not_found')
    if (user.forgotten_at !== null) return refuseForgotten(`user/${id}`)
    const permitted = permitRole(rows, context.permit, user.role)
    if (isRefusal(permitted)) return permitted
    const refusal = tooMany(rows, context)
    if (refusal) return refusal
    const renewed = event('UserInvitationRenewed', { id })
    return accept('updated', renewed.subject, [renewed], linkRows(rows, user, token_hash, context))
  },
})

interface AcceptInput extends RecordId, LinkInput {
  /** Of the verified password. */
  readonly generation: number
}

/**
 * Accepts an invitation, once, by its latest link, before it expires, while its maker may invite the person.
 */
export const acceptInvitation = command<AcceptInput>({
  needs: ({ id }) => [ownCompany, userById(id), invitationByUser(id)],
  needsMore(rows, { id }) {
    const [email, maker] = [rows.get(userById(id))?.doc.email, rows.get(invitationByUser(id))?.made_by]
    return [...(email ? [personByEmail(email)] : []), ...(maker ? [userById(maker)] : [])]
  },
  lookup: (rows, { id }) => otherCompaniesLookup(rows.get(userById(id))?.doc.email),
  decide(rows, { id, token_hash, generation }, { companyId, recordedAt: now, found }) {
    const link = rows.get(invitationByUser(id))
    if (!link?.token_hash?.equals(token_hash) || link.expires_at <= now) return refuse('not_found')
    const user = rows.get(userById(id))?.doc
    if (user?.status !== 'invited' || !isHeld(rows, link, user)) return refuse('not_found')
    if (hasJoined(link, joinedOf(found))) return refuse('not_found')
    const person = user.email === null ? null : rows.get(personByEmail(user.email))
    if (person && person.generation > generation) return refuse('not_found')
    const used: Invitation = { ...link, company_id: companyId, user_id: id, token_hash: null }
    const joined = event('UserJoined', { id })
    return accept('updated', joined.subject, [joined], [{ table: invitations, row: used }])
  },
})

const isHeld = (rows: Rows, { made_by, for_owner: forOwner }: Invitation, { role }: UserObject): boolean =>
  made_by === null ? role !== 'owner' || forOwner : isMakerHeld(rows, made_by, { role, forOwner })

/** Other companies that the person is a user of now. */
const joinedOf = (found: DecisionContext['found']): number[] =>
  (found as readonly OtherCompany[]).flatMap(({ company_id, status }) => (status === 'active' ? company_id : []))

/** Whether the person has joined another company since the invitation. */
export const hasJoined = (link: Pick<Invitation, 'companies'>, joined: readonly number[]): boolean =>
  joined.some((company) => !link.companies.includes(company))

const ACTING_USER = /^user\/(\d+)$/

/** Invitations in the current hour, which starts with its first invitation. */
function countOf(rows: Rows, { companyId, recordedAt: now }: DecisionContext): InvitationCount {
  const known = rows.get(ownInvitationCount)
  if (known && known.hour_ends_at > now) return known
  const hour_ends_at = new Date(Date.parse(now) + HOUR_MS).toISOString()
  return { company_id: companyId, hour_ends_at, invited: 0 }
}

function tooMany(rows: Rows, context: DecisionContext): Refusal | null {
  return countOf(rows, context).invited < INVITATIONS_PER_HOUR ? null : refuse('invitation_limit_reached')
}

function linkRows(
  rows: Rows,
  { id: user_id, role }: Pick<UserObject, 'id' | 'role'>,
  token_hash: Buffer,
  context: DecisionContext,
): PrivateRow[] {
  const count = countOf(rows, context)
  const expires_at = new Date(Date.parse(context.recordedAt) + INVITATION_DAYS * 24 * HOUR_MS).toISOString()
  const [, maker] = ACTING_USER.exec(context.actor ?? '') ?? []
  const link: Invitation = {
    ...{ company_id: context.companyId, user_id, token_hash, expires_at },
    companies: joinedOf(context.found),
    made_by: maker === undefined ? null : Number(maker),
    for_owner: role === 'owner',
  }
  return [
    { table: invitations, row: link },
    { table: invitationCounts, row: { ...count, invited: count.invited + 1 } },
  ]
}
