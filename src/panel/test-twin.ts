import { hashPassword } from '#access/passwords.ts'
import { type RegisterCompanyInput, registerCompany } from '#commands/companies.ts'
import { type CreatePaymentTypeInput, createPaymentType } from '#commands/payment-types.ts'
import { makeTestTwin } from '#commands/test-companies.ts'
import { createUser } from '#commands/users.ts'
import type { Refusal } from '#domain/refusal.ts'
import { type Command, isRefusal } from '#ledger/command.ts'
import { runAsSystem } from '#ledger/write/run.ts'
import type { CompanyObject } from '#projections/companies.ts'
import type { PaymentTypeObject } from '#projections/payment-types.ts'
import { getRow } from '#queries/events.ts'
import { listPaymentTypes } from '#queries/payment-types.ts'
import { getTestCompanyState } from '#queries/test-companies.ts'
import type { FormSubmission } from './route.ts'

/** Company names have at most 120 characters. */
const NAME = 110

/**
 * Creates the test twin of the owner's company, or continues an interrupted creation, and adds the user to it as an
 * owner (KIT-32). Each part is created only if it is missing.
 */
export async function createTwin(submission: FormSubmission): Promise<Refusal | null> {
  const { context, session, primary } = submission
  const { companyId } = session
  const { rows } = await context.reads.pool.query<{ id: number }>(`select nextval('ops.company_ids') as id`)
  const noted = await submission.run(makeTestTwin, { twin_id: (rows[0] as { id: number }).id })
  if (isRefusal(noted)) return noted
  const twinId = (await getTestCompanyState(primary))?.twin_id
  const company = (await getRow(primary, 'company', companyId)) as CompanyObject | null
  if (!twinId || !company) throw new Error(`test twin: company ${companyId} has none although makeTestTwin succeeded`)
  await copySettings(submission, twinId, company)
  const password_hash = await hashPassword(context.environment.newSecret())
  const owner = { name: session.userName, email: session.email, role: 'owner' as const, password_hash }
  const joined = await runAsSystem<object>(context.writer, twinId, createUser, owner)
  return isRefusal(joined) && joined.refused !== 'duplicate_resource' ? joined : null
}

/** Payment types copied to a twin; a shop has fewer. */
const MOST_COPIED = 200

/** Copies the company's present settings and payment types to the twin. */
async function copySettings(
  { context, primary }: FormSubmission,
  twinId: number,
  company: CompanyObject,
): Promise<void> {
  const run = async <I>(command: Command<I>, input: I) => {
    const answer = await runAsSystem<object>(context.writer, twinId, command, input)
    if (answer && isRefusal(answer) && answer.refused !== 'duplicate_resource')
      throw new Error(`test twin ${twinId}: a command was refused: ${answer.refused}`)
  }
  const { created_at: _, test: __, id: ___, ...settings } = company
  await context.installation.found(twinId)
  await run<RegisterCompanyInput>(registerCompany, {
    ...settings,
    id: twinId,
    name: `${company.name.slice(0, NAME)} (teste)`,
    test: true,
  })
  const { data } = await listPaymentTypes(primary, MOST_COPIED)
  // That of orders is made with a store.
  for (const { id: _, is_cash: __, accepts_api: ___, reason: ____, kind, ...fields } of JSON.parse(
    `[${data}]`,
  ) as PaymentTypeObject[])
    if (kind !== 'online') await run<CreatePaymentTypeInput>(createPaymentType, { ...fields, kind })
}
