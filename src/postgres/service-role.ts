import { createHmac } from 'node:crypto'
import type { ClientBase } from 'pg'
import { inTransactionOn } from './transaction.ts'

/** The service's role on the embedded server. */
export const SERVICE_ROLE = 'tillbook_service'

/** Advisory lock: of two processes that start together, one creates the role. */
const ROLE_LOCK = 8_314_159_268

/** Derived one-way from the superuser's password, so that a copy of the data directory has it too. */
export const servicePasswordOf = (superusersPassword: string): string =>
  createHmac('sha256', superusersPassword).update(SERVICE_ROLE).digest('base64url')

/** Creates the role or resets its attributes: LOGIN, and no other privilege in the cluster. */
export async function ensureServiceRole(client: ClientBase, role: string, password: string): Promise<void> {
  const [name, secret] = [client.escapeIdentifier(role), client.escapeLiteral(password)]
  await inTransactionOn(client, async () => {
    await client.query('select pg_advisory_xact_lock($1)', [ROLE_LOCK])
    const { rowCount } = await client.query('select from pg_roles where rolname = $1', [role])
    await client.query(
      `${rowCount === 0 ? 'create' : 'alter'} role ${name}
       login nosuperuser nocreatedb nocreaterole noreplication nobypassrls password ${secret}`,
    )
  })
}
