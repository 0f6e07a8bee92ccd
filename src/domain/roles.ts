/** Roles of a user in a company. Each begins with a preset of permissions (permissions.ts). */
export const ROLES = ['owner', 'manager', 'clerk', 'accountant', 'auditor'] as const
export type Role = (typeof ROLES)[number]

/** What a role is, whatever its permissions (PANEL-81). */
interface RoleTraits {
  /** May log in at tills. */
  readonly usesTills: boolean
  /** Sees and changes nothing. All roles may change their own password. */
  readonly readsOnly: boolean
  /** Access ends on a day, and excludes personal data unless granted. */
  readonly isGuest: boolean
}

export const ROLE_TRAITS: Readonly<Record<Role, RoleTraits>> = {
  owner: { usesTills: true, readsOnly: false, isGuest: false },
  manager: { usesTills: true, readsOnly: false, isGuest: false },
  clerk: { usesTills: true, readsOnly: false, isGuest: false },
  accountant: { usesTills: false, readsOnly: true, isGuest: false },
  auditor: { usesTills: false, readsOnly: true, isGuest: true },
}

/** Roles that may log in at tills, for SQL statements. */
export const TILL_ROLES: readonly Role[] = ROLES.filter((role) => ROLE_TRAITS[role].usesTills)

/** Access terms of a user; only auditors have them. */
export interface AccessTerms {
  readonly role: Role
  /** Last day, in the company's zone; null: unlimited. */
  readonly access_until?: string | null
  readonly personal_data?: boolean
}

/** Whether a user has access on a day of the company. */
export const hasAccessOn = ({ access_until }: Pick<AccessTerms, 'access_until'>, today: string): boolean =>
  (access_until ?? null) === null || today <= (access_until as string)

/** Whether a user may see names, documents and contacts of persons (PANEL-83). */
export const seesPersons = ({ role, personal_data }: AccessTerms): boolean =>
  !ROLE_TRAITS[role].isGuest || personal_data === true
