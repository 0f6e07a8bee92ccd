/** What a person is in a company. */
export const ROLES = ['owner', 'clerk', 'accountant', 'auditor'] as const
export type Role = (typeof ROLES)[number]

/** What a role lets people do, in the panel and at tills (PANEL-5, PANEL-81, PANEL-200). */
interface Rights {
  /** Changes records. Everybody keeps an own password, whatever the role. */
  readonly changes: boolean
  /** Sees what is of the company as a whole: ledger, integrations, settings. Who may change too administers it. */
  readonly seesAll: boolean
  /** Sees who did what when, verifies the ledger, and takes it away with persons sealed. */
  readonly checksBooks: boolean
  /** Is told what items cost, and so what is earned with them. */
  readonly seesCosts: boolean
  /** Is told what the company owes. */
  readonly seesPayables: boolean
  /** Logs in at tills. */
  readonly usesTills: boolean
  /** Is let in until a day, and told personal data only where that was granted. */
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

/** Roles that log in at tills, as statements compare them. */
export const TILL_ROLES: readonly Role[] = ROLES.filter((role) => RIGHTS[role].usesTills)

/** What a user's record says of its access; records of before there were auditors lack it. */
export interface AccessTerms {
  readonly role: Role
  /** The last day, on the company's clock; null for as long as nobody ends it. */
  readonly access_until?: string | null
  readonly personal_data?: boolean
}

/** Whether a user may come in on a day of the company. */
export const isLetIn = ({ access_until }: Pick<AccessTerms, 'access_until'>, today: string): boolean =>
  (access_until ?? null) === null || today <= (access_until as string)

/** Whether a user is told names, documents and contacts of persons (PANEL-83). */
export const isToldPersons = ({ role, personal_data }: AccessTerms): boolean =>
  !RIGHTS[role].isGuest || personal_data === true
