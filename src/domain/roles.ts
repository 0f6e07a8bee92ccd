/** Roles of a user in a company. */
export const ROLES = ['owner', 'clerk', 'accountant', 'auditor'] as const
export type Role = (typeof ROLES)[number]

/** Permissions of a role, in the panel and at tills (PANEL-5, PANEL-81, PANEL-200). */
interface Rights {
  /** May change records. All roles may change their own password. */
  readonly changes: boolean
  /** May see the whole company: ledger, integrations, settings. With `changes`, may administer it. */
  readonly seesAll: boolean
  /** May see the audit trail, verify the ledger, and export it with personal data sealed. */
  readonly checksBooks: boolean
  /** May see item costs, and so margins. */
  readonly seesCosts: boolean
  /** May see payables. */
  readonly seesPayables: boolean
  /** May log in at tills. */
  readonly usesTills: boolean
  /** Access ends on a day, and excludes personal data unless granted. */
  readonly isGuest: boolean
}

const SEES = { seesCosts: true, seesPayables: true }

export const RIGHTS: Readonly<Record<Role, Rights>> = {
  owner: { changes: true, seesAll: true, checksBooks: true, ...SEES, usesTills: true, isGuest: false },
  clerk: {
    changes: true,
    seesAll: false,
    checksBooks: false,
    seesCosts: false,
    seesPayables: false,
    usesTills: true,
    isGuest: false,
  },
  accountant: { changes: false, seesAll: false, checksBooks: true, ...SEES, usesTills: false, isGuest: false },
  auditor: { changes: false, seesAll: true, checksBooks: true, ...SEES, usesTills: false, isGuest: true },
}

/** Roles that may log in at tills, for SQL statements. */
export const TILL_ROLES: readonly Role[] = ROLES.filter((role) => RIGHTS[role].usesTills)

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
  !RIGHTS[role].isGuest || personal_data === true
