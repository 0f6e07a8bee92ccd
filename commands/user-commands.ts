import * as z from 'zod'
import { CalendarDate, dateInZone } from '#domain/instant.ts'
import { type Refusal, refuse, refuseField, refuseForgotten } from '#domain/refusals.ts'
import { getTraits, isLinkHeld, type Role, RoleCode, toRolePermissions } from '#domain/rights.ts'
import { boundedText, Email, Id } from '#domain/text.ts'
import { type DataOf, event } from '#events/catalogue.ts'
import {
  accept,
  type Command,
  command,
  type Grant,
  isRefusal,
  type Lookup,
  type NewEvent,
  type Permit,
} from '#ledger/command.ts'
import type { Rows } from '#ledger/working-set.ts'
import { companyRef, ownCompany } from '#projections/companies.ts'
import {
  type PersonLogin,
  personByEmail,
  persons,
  type UserObject,
  userByEmail,
  userById,
  userPermissions,
  userPinByUser,
  userPins,
} from '#projections/users.ts'
import { isEmpty, pickChanges, type RecordId } from './record-commands.ts'
import { describeRole, permitRole } from './role-commands.ts'

/** Access terms of an auditor; other roles have none. */
const terms = {
  /** Last day of access, in the company's time zone. */
  access_until: CalendarDate.nullable().optional(),
  /** Shows names, documents and contacts of persons. */
  personal_data: z.boolean().optional(),
}

/** Only a hash of the password arrives here; neither password nor hash may enter an event. */
export const CreateUserInput = z.strictObject({
  name: boundedText(120),
  email: Email,
  role: RoleCode,
  ...terms,
  password_hash: z.string(),
})
export type CreateUserInput = z.infer<typeof CreateUserInput>

/** Refusal if a user of the company has this address. Its logins in other companies do not matter. */
export function refuseTakenEmail(rows: Rows, email: string): Refusal | null {
  const holder = rows.get(userByEmail(email))
  return holder && refuse('duplicate_resource', { field: 'email', conflicting_id: holder.id })
}

interface Terms {
  readonly access_until?: string | null | undefined
  readonly personal_data?: boolean | undefined
}

/** Terms for a role: an auditor needs a last day that is not in the past, other roles have none. */
export function termsFor(rows: Rows, role: Role, given: Terms, now: string): Terms | Refusal {
  const { access_until = null, personal_data = false } = given
  if (!getTraits(role).isGuest) {
    if (access_until !== null) return refuseField('access_until', 'só vale para auditores')
    return personal_data ? refuseField('personal_data', 'só vale para auditores') : {}
  }
  if (access_until === null) return refuseField('access_until', 'informe a data: auditores precisam dela')
  if (access_until < dateInZone(now, companyRef(rows).timezone)) return refuseField('access_until', 'já passou')
  return { access_until, personal_data }
}

/** Users with the permission to manage users do not decide about owners. */
export const permitOwner = (permit: Permit, role: Role): Grant | Refusal =>
  role === 'owner' ? permit('manage_owners') : {}

/**
 * Adds a user without an invitation: for operators. The password applies only if no company knows the person; an
 * existing one stays unchanged.
 */
export const createUser = command<CreateUserInput>({
  permission: 'manage_users',
  needs: ({ email }) => [ownCompany, userByEmail(email), personByEmail(email)],
  decide(rows, { password_hash, name, email, role, ...given }, { nextId, recordedAt: now, permit }) {
    const permitted = permitRole(rows, permit, role)
    if (isRefusal(permitted)) return permitted
    const granted = termsFor(rows, role, given, now)
    const refusal = refuseTakenEmail(rows, email) ?? (isRefusal(granted) ? granted : null)
    if (refusal) return refusal
    const user = { name, email, ...describeRole(rows, role), ...(granted as Terms) }
    const created = event('UserCreated', { id: nextId('user'), ...user })
    const person: PersonLogin = { email: user.email, password_hash, generation: 0 }
    const isKnown = rows.get(personByEmail(user.email)) !== null
    return accept('created', created.subject, [created], isKnown ? [] : [{ table: persons, row: person }])
  },
})

/** Absent fields stay unchanged. The e-mail cannot change: it is the login. */
export const UpdateUserInput = z.strictObject({
  id: Id,
  ...CreateUserInput.pick({ name: true, role: true, access_until: true, personal_data: true }).partial().shape,
})
export type UpdateUserInput = z.infer<typeof UpdateUserInput>

/** Changes a user's name, role or terms. Applies from the next request on, in open sessions too. */
export const updateUser = command<UpdateUserInput>({
  permission: 'manage_users',
  needs: ({ id }) => [ownCompany, userById(id)],
  decide(rows, { id, ...fields }, { recordedAt: now, permit }) {
    const known = rows.get(userById(id))
    if (!known) return refuse('not_found')
    if (known.doc.forgotten_at !== null) return refuseForgotten(`user/${id}`)
    const { role = known.doc.role } = fields
    const owner = permitOwner(permit, known.doc.role)
    const permitted = isRefusal(owner) || role === known.doc.role ? owner : permitRole(rows, permit, role)
    if (isRefusal(permitted)) return permitted
    const changes = userChanges(rows, known.doc, fields, now)
    if (isRefusal(changes)) return changes
    if (isEmpty(changes)) return accept('unchanged', `user/${id}`)
    if (changes.role !== undefined && changes.role !== 'owner' && isLastOwner(rows, id)) return refuse('last_owner')
    return accept('updated', `user/${id}`, [event('UserUpdated', { id, changes })])
  },
})

/** Changed fields of an update. Unchanged terms may be in the past. */
function userChanges(
  rows: Rows,
  known: UserObject,
  { name, role = known.role, ...given }: Omit<UpdateUserInput, 'id'>,
  now: string,
): DataOf<'UserUpdated'>['changes'] | Refusal {
  const { access_until = null, personal_data } = known
  const before = { access_until, personal_data: getTraits(known.role).isGuest && personal_data }
  const isOtherRole = role !== known.role
  const terms = isOtherRole || !getTraits(role).isGuest ? given : { ...before, ...given }
  const isLeftAlone = !isOtherRole && isEmpty(pickChanges(before, terms))
  const granted = isLeftAlone ? {} : termsFor(rows, role, terms, now)
  if (isRefusal(granted)) return granted
  const isEnded = isOtherRole && !getTraits(role).isGuest && access_until !== null
  return {
    ...pickChanges(known, { name }),
    ...(isOtherRole && describeRole(rows, role)),
    ...(isOtherRole ? granted : pickChanges(before, granted)),
    ...(isEnded && { access_until: null }),
  }
}

/** Only a hash of the password arrives here; neither password nor hash may enter an event. */
export const ChangePasswordInput = z.strictObject({
  id: Id,
  password_hash: z.string(),
  /** If users change their own password: the hash that their old password matched. It must still be current. */
  verified_hash: z.string().optional(),
  /** Of links that replace a forgotten password: the person's generation when the link was sent. A later password ends the link. */
  latest_generation: z.int().optional(),
  /** Of links that another user made: that user, and whether the person was an owner then. */
  handed_over: z.strictObject({ made_by: Id, for_owner: z.boolean() }).optional(),
})
export type ChangePasswordInput = z.infer<typeof ChangePasswordInput>

/** Changes a person's password and ends all sessions of the old one, in all companies, in the same transaction. */
export const changePassword = command<ChangePasswordInput>({
  needs: ({ id, handed_over }) => [ownCompany, userById(id), ...(handed_over ? [userById(handed_over.made_by)] : [])],
  needsMore(rows, { id }) {
    const user = rows.get(userById(id))
    return user?.doc.email ? [personByEmail(user.doc.email)] : []
  },
  decide(rows, { id, password_hash, verified_hash, latest_generation, handed_over }) {
    const user = rows.get(userById(id))
    // Before an invitation is accepted, the company cannot change the person's password.
    if (user?.doc.status !== 'active' && user?.doc.status !== 'inactive') return refuse('not_found')
    const { email, role } = user.doc
    if (email === null) return refuseForgotten(`user/${id}`)
    if (handed_over && !isMakerHeld(rows, handed_over.made_by, { role, forOwner: handed_over.for_owner }))
      return refuse('not_found')
    // Null if the row was lost with its database.
    const person = rows.get(personByEmail(email))
    if (verified_hash !== undefined && person?.password_hash !== verified_hash)
      return refuseField('current_password', 'está incorreta')
    if (latest_generation !== undefined && (person?.generation ?? 0) > latest_generation) return refuse('not_found')
    const row: PersonLogin = { email, password_hash, generation: (person?.generation ?? 0) + 1 }
    const changed = event('UserPasswordChanged', { id })
    return accept('updated', changed.subject, [changed], [{ table: persons, row }])
  },
})

/** Whether a link that a user made for a person of this role still holds; the rows of company and user are loaded. */
export const isMakerHeld = (
  rows: Rows,
  madeBy: number,
  { role, forOwner }: { readonly role: Role; readonly forOwner: boolean },
): boolean =>
  isLinkHeld(userPermissions(rows, madeBy), { role: toRolePermissions(role, companyRef(rows).roles), forOwner })

/** Another company that has, had or has invited a person. */
export interface OtherCompany {
  readonly company_id: number
  readonly status: UserObject['status']
}

/** Reads the other companies of a person, which have ledgers of their own, in the transaction of a decision. */
export const otherCompaniesLookup = (email: string | null | undefined): Lookup => ({
  name: 'other_companies_of_person',
  text: `select company_id, doc ->> 'status' as status from users where company_id <> $1::bigint and email = $2`,
  values: [email ?? null],
})

/**
 * Sets the password by a link that another user of the company handed over. It ends when its person belongs to another
 * company, also to one that has only invited it: an invitation is accepted later.
 */
export const usePasswordLink = command<ChangePasswordInput>({
  ...changePassword,
  lookup: (rows, { id }) => otherCompaniesLookup(rows.get(userById(id))?.doc.email),
  decide: (rows, input, context) =>
    context.found.length > 0 ? refuse('not_found') : changePassword.decide(rows, input, context),
})

/** Only a hash of the PIN arrives here; neither may enter an event. */
const ChangePinInput = z.strictObject({ id: Id, pin_hash: z.string() })
type ChangePinInput = z.infer<typeof ChangePinInput>

/** Sets the PIN with which a user approves operations of others on the spot. */
export const changePin = command<ChangePinInput>({
  needs: ({ id }) => [userById(id), userPinByUser(id)],
  decide(rows, { id: user_id, pin_hash }, { companyId: company_id }) {
    if (rows.get(userById(user_id))?.doc.status !== 'active') return refuse('not_found')
    const changed = event('UserPinChanged', { id: user_id })
    return accept('updated', changed.subject, [changed], [{ table: userPins, row: { company_id, user_id, pin_hash } }])
  },
})

/**
 * Locks a user out of the company from the next request on, in all sessions; other companies are not affected. Cancels
 * an invitation. Name, e-mail and history stay. Users cannot deactivate themselves: they could not undo it.
 */
export const deactivateUser = command<RecordId>({
  permission: 'manage_users',
  needs: ({ id }) => [ownCompany, userById(id)],
  decide(rows, { id }, { actor, permit }) {
    const known = rows.get(userById(id))
    if (!known) return refuse('not_found')
    const { status, role } = known.doc
    const owner = permitOwner(permit, role)
    if (isRefusal(owner)) return owner
    if (status === 'inactive' || status === 'cancelled') return accept('unchanged', `user/${id}`)
    if (status === 'invited') return accept('updated', `user/${id}`, [event('UserInvitationCancelled', { id })])
    if (actor === `user/${id}`) return refuseField('id', 'não pode ser o próprio usuário')
    if (isLastOwner(rows, id)) return refuse('last_owner')
    return accept('updated', `user/${id}`, [event('UserDeactivated', { id })])
  },
})

/** Lets a user log in again, with the same password. Earlier sessions stay closed. */
export const reactivateUser = command<RecordId>({
  permission: 'manage_users',
  needs: ({ id }) => [ownCompany, userById(id)],
  decide(rows, { id }, { permit }) {
    const known = rows.get(userById(id))
    if (!known) return refuse('not_found')
    const owner = permitOwner(permit, known.doc.role)
    if (isRefusal(owner)) return owner
    if (known.doc.forgotten_at !== null) return refuseForgotten(`user/${id}`)
    if (known.doc.status === 'active') return accept('unchanged', `user/${id}`)
    if (known.doc.status !== 'inactive') return refuseField('id', 'só entra na empresa quem aceita o convite')
    const permitted = permitRole(rows, permit, known.doc.role)
    if (isRefusal(permitted)) return permitted
    return accept('updated', `user/${id}`, [event('UserReactivated', { id })])
  },
})

/** Whether this user is the last active owner. Only owners manage keys, users and webhooks. */
export function isLastOwner(rows: Rows, userId: number): boolean {
  const { active_owners } = companyRef(rows)
  return active_owners.length === 1 && active_owners[0] === userId
}

/**
 * Records an event about the login of an active user; users need no permission for their own. Links, secrets and codes
 * are stored by `src/access`, never in the event.
 */
const recordOf = <I extends { readonly id: number }>(make: (input: I) => NewEvent): Command<I> =>
  command<I>({
    needs: ({ id }) => [ownCompany, userById(id)],
    decide(rows, input, { actor, permit }) {
      const user = rows.get(userById(input.id))
      if (user?.doc.status !== 'active') return refuse('not_found')
      const isOwn = actor === `user/${input.id}`
      const managing = isOwn ? {} : permit('manage_users')
      const granted = isOwn || isRefusal(managing) ? managing : permitRole(rows, permit, user.doc.role)
      if (isRefusal(granted)) return granted
      const recorded = make(input)
      return accept('updated', recorded.subject, [recorded])
    },
  })

export const recordPasswordLink = recordOf((data: DataOf<'UserPasswordLinkCreated'>) =>
  event('UserPasswordLinkCreated', data),
)
export const recordSecondFactor = recordOf((data: DataOf<'UserSecondFactorAdded'>) =>
  event('UserSecondFactorAdded', data),
)
export const recordSecondFactorRemoval = recordOf((data: DataOf<'UserSecondFactorRemoved'>) =>
  event('UserSecondFactorRemoved', data),
)
export const recordRecoveryCodes = recordOf((data: DataOf<'UserRecoveryCodesRenewed'>) =>
  event('UserRecoveryCodesRenewed', data),
)
