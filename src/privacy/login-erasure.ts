import { loginAccountOf } from '#access/login-limits.ts'
import type { Transaction } from '#postgres/transaction.ts'

/** Stored e-mail addresses of users of a company. */
export async function emailsOf(tx: Transaction, companyId: number, userIds: readonly number[]): Promise<string[]> {
  if (userIds.length === 0) return []
  const { rows } = await tx.query<{ email: string }>(FIND_EMAILS, [companyId, userIds])
  return rows.map(({ email }) => email)
}

/**
 * Ends all access of users of a company. Login, links and known networks of an address are deleted with the last user
 * who has it in any company (PRIV-36); until then links and origins stay. All rows are found by key.
 */
export async function eraseLogins(
  tx: Transaction,
  companyId: number,
  userIds: readonly number[],
  emails: readonly string[],
): Promise<void> {
  for (const end of END_ACCESS) await tx.query(end, [companyId, userIds])
  // A concurrent insert of related rows locks the login or the user, so this statement waits for it.
  const { rows } = await tx.query<{ email: string }>(DELETE_LOGINS, [emails])
  const gone = rows.map(({ email }) => email)
  if (gone.length === 0) return
  for (const statement of DELETE_OF_EMAILS) await tx.query(statement, [gone])
  const accounts = gone.map(loginAccountOf)
  await tx.query(DELETE_ORIGINS, [accounts])
  await tx.query(DELETE_FAILURES, [accounts])
}

const FIND_EMAILS = {
  name: 'find_emails_of_users',
  text: `select doc ->> 'email' as email from users
         where company_id = $1 and id = any($2::bigint[]) and doc ->> 'email' is not null`,
}

const END_ACCESS = [
  {
    name: 'end_sessions_of_users',
    text: `update ops.sessions set revoked_at = clock_timestamp(), user_agent = null
           where user_id = any($2::bigint[]) and company_id = $1 and revoked_at is null`,
  },
  {
    name: 'end_tokens_of_users',
    text: `update ops.sync_tokens set revoked_at = clock_timestamp()
           where user_id = any($2::bigint[]) and company_id = $1 and revoked_at is null`,
  },
  {
    name: 'delete_pins_of_users',
    text: 'delete from ops.user_pins where company_id = $1 and user_id = any($2::bigint[])',
  },
  {
    name: 'end_invitations_of_users',
    text: 'update ops.invitations set token_hash = null where company_id = $1 and user_id = any($2::bigint[])',
  },
]

/** Returns addresses without a user, with or without a login. */
const DELETE_LOGINS = {
  name: 'delete_logins',
  text: `with gone as (
           select email from unnest($1::text[]) as known(email) where not exists (select from users u where u.email = known.email)
         ), deleted as (
           delete from ops.persons p using gone where p.email = gone.email
         )
         select email from gone`,
}

const DELETE_OF_EMAILS = ['password_links', 'second_factors', 'recovery_codes', 'second_steps'].map((table) => ({
  name: `delete_${table}`,
  text: `delete from ops.${table} where email = any($1)`,
}))

const DELETE_ORIGINS = {
  name: 'delete_login_origins',
  text: 'delete from ops.login_origins where account = any($1::bytea[])',
}

const DELETE_FAILURES = {
  name: 'delete_login_failures',
  text: 'delete from ops.login_failures where key = any($1::bytea[])',
}
