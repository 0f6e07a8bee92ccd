import { dateInZone } from '#domain/instant.ts'
import { fromCents, toCents } from '#domain/money.ts'
import { refuse } from '#domain/refusals.ts'
import {
  getLimit,
  isLimited,
  type LimitedPermission,
  may,
  mayUpTo,
  type Permission,
  type Role,
  type RolePermissions,
  seesPersons,
  toRolePermissions,
} from '#domain/rights.ts'
import type { DataOf, EventOf } from '#events/catalogue.ts'
import type { Envelope, LimitedUse, Permit } from '#ledger/command.ts'
import { byKey, byPk, table } from '#ledger/table.ts'
import type { Changes, Rows } from '#ledger/working-set.ts'
import type { Guard } from '#ledger/write/unit-of-work.ts'
import { companies, companyRef, getTimezone, ownCompany } from './companies.ts'
import { type ChangedFields, changedColumns, existing, projection, stamp } from './define-projection.ts'
import { withoutParts } from './people.ts'

/** Cents that a user gave on a day of the company, without what another user approved. */
interface DayUse extends Record<LimitedPermission, number> {
  readonly day: string
}

/** What users gave under permissions with a limit, in the panel and at tills. */
interface LimitUseRow {
  company_id: number
  user_id: number
  /** The latest `MAX_DAYS`, in order. */
  days: readonly DayUse[]
}

const limitUses = table<LimitUseRow>('limit_uses', {
  about: 'What users gave under their limits by day, in cents.',
  columns: { company_id: 'bigint', user_id: 'bigint', days: 'json' },
  keys: { pk: ['company_id', 'user_id'] },
})

/** Tills upload sales of earlier days. */
const MAX_DAYS = 31

export const limitUsesByUser = (userId: number) => byPk(limitUses, userId)

/** Cents that a user gave on a day; the row of `limitUsesByUser` is loaded. */
const usedOn = (rows: Rows, userId: number, permission: LimitedPermission, day: string): number =>
  rows.get(limitUsesByUser(userId))?.days.find((each) => each.day === day)?.[permission] ?? 0

interface Act {
  readonly actor: string | null
  readonly recorded_at: string
  readonly origin: string
  readonly data: { readonly approved_by?: number | undefined; readonly returned_by?: number | undefined }
}

/** User who acts on the user's own permissions; null for others. */
function userOf({ actor, origin, data }: Act): number | null {
  // A till's return that waited is recorded with the upload of its sale.
  if (data.returned_by !== undefined && origin === 'pdv') return data.returned_by
  const id = data.approved_by === undefined ? /^user\/(\d{1,15})$/.exec(actor ?? '')?.[1] : undefined
  return id === undefined ? null : Number(id)
}

/** Discount of a sale and of its items, in cents. */
export const discountOfSale = ({
  items,
  discount,
}: Pick<EventOf<'OfflineSaleCompleted'>['data'], 'items' | 'discount'>): number =>
  items.reduce((sum, item) => sum + toCents(item.discount), toCents(discount))

/** Handler of events by which a user gives something. A day ahead of the recording counts as the recording's. */
const giving = <E extends Act>(permission: LimitedPermission, centsOf: (event: E) => number, timeOf = recordedAt) => ({
  refs(event: E) {
    const userId = userOf(event)
    return userId === null ? [] : [limitUsesByUser(userId)]
  },
  apply(rows: Changes, event: E) {
    const [user_id, cents] = [userOf(event), centsOf(event)]
    if (user_id === null || cents === 0) return
    const zone = getTimezone(rows)
    const [day = ''] = [dateInZone(timeOf(event), zone), dateInZone(event.recorded_at, zone)].sort()
    const before = rows.get(limitUsesByUser(user_id))?.days ?? []
    const known = before.find((each) => each.day === day) ?? { day, return_goods: 0, give_discount: 0 }
    const days = [...before.filter((each) => each !== known), { ...known, [permission]: known[permission] + cents }]
    days.sort((one, other) => (one.day < other.day ? -1 : 1))
    rows.put(limitUses, { company_id: companyRef(rows).company_id, user_id, days: days.slice(-MAX_DAYS) })
  },
})

const recordedAt = ({ recorded_at }: Act): string => recorded_at

type Forgiving = EventOf<'ReceivableUpdated'> | EventOf<'ReceivableDeleted'> | EventOf<'ReceivablePaymentReceived'>

const forgiving = giving<Forgiving>('give_discount', ({ data }) => toCents(data.discount ?? '0.00'))

export const limitUsesProjection = projection('limit_uses', [limitUses], {
  SaleReturned: giving<EventOf<'SaleReturned'>>('return_goods', ({ data }) => toCents(data.total)),
  OfflineSaleCompleted: giving<EventOf<'OfflineSaleCompleted'> & Act>(
    'give_discount',
    ({ data }) => discountOfSale(data),
    (event) => ('sold_at' in event.data ? String(event.data.sold_at) : event.recorded_at),
  ),
  ReceivableUpdated: forgiving,
  ReceivableDeleted: forgiving,
  ReceivablePaymentReceived: forgiving,
})

/** User of the company, who logs in at tills or in the panel. */
export type UserObject = Omit<DataOf<'UserCreated'>, 'role_name' | 'access_until' | 'personal_data'> & {
  /** Last day of an auditor's access, in the company's zone; null for other roles. */
  access_until: string | null
  /** Whether names, documents and contacts of persons are shown. */
  personal_data: boolean
  /** `invited` until the invitation is accepted, `cancelled` if it was withdrawn. Only active users can log in. */
  status: 'active' | 'inactive' | 'invited' | 'cancelled'
  company_id: number
  /** Name and e-mail are null from then on. */
  forgotten_at: string | null
  created_at: string
  updated_at: string
}

interface UserRow extends ChangedFields {
  company_id: number
  id: number
  /** Null if another user of the company has the address: ledgers of restored installations may contain duplicates. */
  email: string | null
  /**
   * Tokens and sessions belong to the generation in which they were issued; those of earlier generations are invalid.
   */
  generation: number
  /** When access ended, by the recording (UTC): with a deactivation, a new password or another role; the latest. */
  endings: readonly string[]
  doc: UserObject
}

/** Ends of access that a user's row keeps. */
const MAX_ENDINGS = 20

export const users = table<UserRow>('users', {
  about: 'Users of companies: persons with a name and a role.',
  columns: {
    company_id: 'bigint',
    id: 'bigint',
    email: 'text',
    generation: 'integer',
    endings: 'json',
    ...changedColumns,
    doc: 'json',
  },
  keys: { pk: ['company_id', 'id'], email: ['company_id', 'email'] },
  // Finds the companies of a person.
  indexes: ['(email)'],
  past: { id: 'id', without: ['email'] },
})

export const userById = (id: number) => byPk(users, id)

/** A session of the panel or a token of a till: `ops`. Only guards read them here. */
interface Credential {
  hash: Buffer
  expires_at: string | null
  revoked_at: string | null
}

const credentials = (name: string) =>
  table<Credential>(name, {
    global: true,
    columns: { hash: 'bytea', expires_at: 'timestamptz', revoked_at: 'timestamptz' },
    keys: { pk: ['hash'] },
  })

export const panelSessions = credentials('sessions')
export const tillTokens = credentials('sync_tokens')

/** The user of the token or session that a request came with. */
type Caller = {
  readonly userId: number
  readonly generation: number
  readonly email: string
  readonly personGeneration: number
} & ({ readonly sessionHash: Buffer } | { readonly tokenHash: Buffer; readonly role: string })

/**
 * The token or session of a request has not ended: neither itself, nor by the user being shut out or a new password, be it in another
 * company. Its commands have the permissions of the user, or of the user who approves them on the spot; the whole request
 * needs `permissions`.
 */
export function liveUser(
  caller: Caller,
  approverId: number | null = null,
  permissions: readonly Permission[] = [],
): Guard {
  const { userId, generation, email, personGeneration } = caller
  const credential =
    'sessionHash' in caller ? byPk(panelSessions, caller.sessionHash) : byPk(tillTokens, caller.tokenHash)
  return {
    permissions,
    needs: [
      ownCompany,
      userById(userId),
      limitUsesByUser(userId),
      personByEmail(email),
      credential,
      ...(approverId === null ? [] : [userById(approverId)]),
    ],
    permitsOf: (rows, now) => permitOf(rows, userId, approverId, now),
    holds(rows, now) {
      const found = rows.get(credential)
      return (
        found?.revoked_at === null &&
        (found.expires_at === null || Date.parse(found.expires_at) > Date.parse(now)) &&
        rows.get(userById(userId))?.generation === generation &&
        (!('tokenHash' in caller) || rows.get(userById(userId))?.doc.role === caller.role) &&
        rows.get(personByEmail(email))?.generation === personGeneration
      )
    },
  }
}

/** Permissions of an active user; null for others. The row of the user is loaded. */
export function userPermissions(rows: Rows, userId: number): RolePermissions | null {
  const user = rows.get(userById(userId))
  return user?.doc.status === 'active' ? toRolePermissions(user.doc.role, companyRef(rows).roles) : null
}

/**
 * Whether a user may give this much more under a limited permission: with what the record was given before, and with
 * what the user gave on the day. The rows of the user and of `limitUsesByUser` are loaded.
 */
export const mayGive = (
  rows: Rows,
  userId: number,
  permission: LimitedPermission,
  use: LimitedUse,
  day: string,
): boolean => mayGiveBy(userPermissions(rows, userId), rows, userId, permission, use, day)

function mayGiveBy(
  own: RolePermissions | null,
  rows: Rows,
  userId: number,
  permission: LimitedPermission,
  { cents, before, isAsLimit }: LimitedUse,
  day: string,
): boolean {
  if (own !== null && isAsLimit) return mayUpTo(own, permission, cents)
  if (own === null || cents === 0) return own !== null && may(own, permission)
  return mayUpTo(own, permission, cents + Math.max(before, usedOn(rows, userId, permission, day)))
}

/** Limit of a user for a permission in cents; 0 without the permission, or if there is no such user. */
export function limitOfUser(rows: Rows, userId: number, permission: LimitedPermission): number {
  const own = userPermissions(rows, userId)
  return own && may(own, permission) ? (getLimit(own, permission) ?? 0) : 0
}

/**
 * Grants what the user may do, or what the approver may do if the user may not; the event then names the approver. The rows of both users are loaded.
 */
const permitOf = (rows: Rows, userId: number, approverId: number | null, now: string): Permit =>
  permitBy(userPermissions(rows, userId), approverId, { rows, userId, now })

function permitBy(
  own: RolePermissions | null,
  approverId: number | null,
  { rows, userId, now }: { readonly rows: Rows; readonly userId: number; readonly now: string },
): Permit {
  return (permission, use = { cents: 0, before: 0 }) => {
    const isGranted = isLimited(permission)
      ? mayGiveBy(own, rows, userId, permission, use, dateInZone(now, getTimezone(rows)))
      : own && may(own, permission)
    if (isGranted) return {}
    const approver = approverId === null ? null : userPermissions(rows, approverId)
    if (approverId !== null && approver && mayUpTo(approver, permission, use.cents + use.before))
      return { approved_by: approverId }
    const limit = own && may(own, permission) ? getLimit(own, permission) : null
    return refuse('permission_required', { permission, ...(limit !== null && { limit: fromCents(limit) }) })
  }
}

/** What the user of an ended token may do: as long as it was valid. The user's row of `limitUsesByUser` is loaded. */
export const permitOfRole = (rows: Rows, userId: number, role: Role, now: string): Permit =>
  permitBy(toRolePermissions(role, companyRef(rows).roles), null, { rows, userId, now })

/** What another user than the caller may do; the rows of the user and of `limitUsesByUser` are loaded. */
export const permitOfUser = (rows: Rows, userId: number, now: string): Permit => permitOf(rows, userId, null, now)

export const userByEmail = (email: string) => byKey(users, 'email', email)

/** Login of a person, by e-mail, for all companies of that person; schema `ops`. The password is never in an event. */
export interface PersonLogin {
  email: string
  password_hash: string
  /** Incremented by each new password: older sessions end, in all companies. */
  generation: number
}

export const persons = table<PersonLogin>('persons', {
  global: true,
  columns: { email: 'text', password_hash: 'text', generation: 'integer' },
  keys: { pk: ['email'] },
})

export const personByEmail = (email: string) => byPk(persons, email)

/** PIN of a user, with which the user approves operations of others; schema `ops`. */
export interface UserPin {
  company_id: number
  user_id: number
  pin_hash: string
}

export const userPins = table<UserPin>('user_pins', {
  columns: { company_id: 'bigint', user_id: 'bigint', pin_hash: 'text' },
  keys: { pk: ['company_id', 'user_id'] },
})

export const userPinByUser = (userId: number) => byPk(userPins, userId)

/** Link of an invitation; schema `ops`. Events never contain the link. */
export interface Invitation {
  company_id: number
  user_id: number
  token_hash: Buffer | null
  expires_at: string
  /** The user who invited; null for an operator. */
  made_by: number | null
  /** Whether to become an owner. */
  for_owner: boolean
  /** Companies of the person then. */
  companies: readonly number[]
}

export const invitations = table<Invitation>('invitations', {
  columns: {
    company_id: 'bigint',
    user_id: 'bigint',
    token_hash: 'bytea',
    expires_at: 'timestamptz',
    made_by: 'bigint',
    for_owner: 'boolean',
    companies: 'json',
  },
  keys: { pk: ['company_id', 'user_id'] },
})

export const invitationByUser = (userId: number) => byPk(invitations, userId)

/** Invitations of a company in the current hour; schema `ops`. */
export interface InvitationCount {
  company_id: number
  hour_ends_at: string
  invited: number
}

export const invitationCounts = table<InvitationCount>('invitation_counts', {
  columns: { company_id: 'bigint', hour_ends_at: 'timestamptz', invited: 'integer' },
  keys: { pk: ['company_id'] },
})

export const ownInvitationCount = byPk(invitationCounts)

export const usersProjection = projection('users', [users], {
  UserCreated: added('active'),
  UserInvited: added('invited'),
  UserInvitationRenewed: changed((user) => ({ doc: { ...user.doc, status: 'invited' } })),
  UserInvitationCancelled: changed((user) => ({ doc: { ...user.doc, status: 'cancelled' } })),
  UserJoined: changed((user) => ({ doc: { ...user.doc, status: 'active' } })),
  UserUpdated: changed((user, { data }: EventOf<'UserUpdated'>) => {
    const { role_name: _, ...changes } = data.changes
    const doc = { ...user.doc, ...changes }
    return { doc: { ...doc, personal_data: seesPersons(doc) } }
  }),
  UserDeactivated: changed((user) => ({
    doc: { ...user.doc, status: 'inactive' },
    generation: user.generation + 1,
  })),
  UserReactivated: changed((user) => ({ doc: { ...user.doc, status: 'active' } })),
  UserPinChanged: changed(({ doc }) => ({ doc })),
  UserPasswordChanged: changed((user) => ({ doc: user.doc, generation: user.generation + 1 })),
  UserPasswordLinkCreated: changed(({ doc }) => ({ doc })),
  UserSecondFactorAdded: changed(({ doc }) => ({ doc })),
  UserSecondFactorRemoved: changed(({ doc }) => ({ doc })),
  UserRecoveryCodesRenewed: changed(({ doc }) => ({ doc })),
  PersonForgotten: {
    refs: ({ data }) => (data.kind === 'user' ? [userById(data.id)] : []),
    apply(rows, event) {
      if (event.data.kind !== 'user' || !event.data.parts.includes('identity')) return
      const before = existing(rows, userById(event.data.id))
      const at = event.recorded_at
      const doc = { ...withoutParts('user', before.doc), forgotten_at: at, updated_at: at }
      rows.put(users, { ...before, ...stamp(event), email: null, doc })
    },
  },
})

function added(status: UserObject['status']) {
  return {
    refs: ({ data }: EventOf<'UserCreated' | 'UserInvited'>) => (data.email === null ? [] : [userByEmail(data.email)]),
    apply(rows: Changes, event: EventOf<'UserCreated' | 'UserInvited'>) {
      const { company_id } = companyRef(rows)
      const { id, name, email, role, access_until = null } = event.data
      const at = event.recorded_at
      const doc: UserObject = {
        id,
        name,
        email,
        role,
        access_until,
        personal_data: seesPersons(event.data),
        status,
        company_id,
        forgotten_at: null,
        created_at: at,
        updated_at: at,
      }
      const claimed = email === null || rows.get(userByEmail(email)) ? null : email
      rows.add(users, { company_id, id, email: claimed, generation: 0, endings: [], ...stamp(event), doc })
      noteOwner(rows, doc)
    },
  }
}

function changed<E extends Pick<Envelope, 'recorded_at' | 'revision'> & { data: { id: number } }>(
  change: (user: Readonly<UserRow>, event: E) => Pick<UserRow, 'doc'> & Partial<UserRow>,
) {
  return {
    refs: (event: E) => [userById(event.data.id)],
    apply(rows: Changes, event: E) {
      const before = existing(rows, userById(event.data.id))
      const after = { ...before, ...stamp(event), ...change(before, event) }
      const doc = { ...after.doc, updated_at: event.recorded_at }
      const hasEnded = after.generation > before.generation || doc.role !== before.doc.role
      const endings = hasEnded ? [...before.endings, event.recorded_at].slice(-MAX_ENDINGS) : before.endings
      rows.put(users, { ...after, endings, doc })
      noteOwner(rows, doc)
    },
  }
}

/**
 * Maintains the company's list of active owners, which tells commands who is the last one. Done here, where role and
 * status are both known.
 */
function noteOwner(rows: Changes, { id, role, status }: UserObject): void {
  const company = companyRef(rows)
  const isOne = role === 'owner' && status === 'active'
  if (company.active_owners.includes(id) === isOne) return
  const others = company.active_owners.filter((owner) => owner !== id)
  rows.put(companies, { ...company, active_owners: isOne ? [...others, id] : others })
}
