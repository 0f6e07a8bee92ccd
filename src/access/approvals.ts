import type { Pool } from 'pg'
import { Email, limitedText } from '#domain/text.ts'
import type { Queryable } from '#postgres/database.ts'
import type { Login, LoginFailure } from './login.ts'
import { countAttempt, refundAttempt } from './login-limits.ts'
import { verifyPassword } from './passwords.ts'

/** Six digits: shorter than every password, so that one field takes either. */
const PIN = /^\d{6}$/

/** Digits that are guessed first. */
const isGuessable = (pin: string): boolean =>
  [...pin].every((digit, at) => at === 0 || Number(digit) === Number(pin[at - 1])) ||
  '0123456789'.includes(pin) ||
  '9876543210'.includes(pin)

export const Pin = limitedText(20)
  .regex(PIN, 'deve ter 6 dígitos')
  .refine((pin) => !isGuessable(pin), 'não pode ser uma sequência nem um dígito repetido')

/** What a person types to approve an operation of another user. */
interface ApproverCredentials {
  readonly email: string
  /** PIN or password. */
  readonly secret: string
}

/** Who asks for the approval: failures count against this person, session and network. */
export interface ApprovalSource {
  readonly companyId: number
  readonly email: string
  readonly sessionHash: Buffer
  readonly address: string
}

interface ApprovalServices {
  /** Of the company. */
  readonly pool: Queryable
  /** With the failure counters of logins. */
  readonly logins: Pool
  readonly login: Pick<Login, 'passwordHashOf'>
}

type ApprovalOutcome = { readonly kind: 'right'; readonly userId: number } | LoginFailure

interface ApproverRow {
  readonly id: number
  readonly pin_hash: string | null
}

const APPROVER = {
  name: 'find_approver',
  text: `select u.id, p.pin_hash from users u left join user_pins p on p.company_id = u.company_id and p.user_id = u.id
         where u.company_id = $1 and u.email = $2 and u.doc ->> 'status' = 'active'`,
}

/**
 * Verifies an active user of the company by PIN or password. For any other address nothing is compared, and the answer
 * takes as long. Failures count against who asks, not against the approver's own prompts (ROLE-121). What the user may
 * approve is decided with the operation.
 */
export async function confirmApprover(
  { pool, logins, login }: ApprovalServices,
  { email: typed, secret }: ApproverCredentials,
  asking: ApprovalSource,
): Promise<ApprovalOutcome> {
  const counted = await countAttempt(logins, { ...asking, proof: { asking: asking.sessionHash } })
  if (counted.kind === 'limited') return counted
  const { data: email = '' } = Email.safeParse(typed)
  const [{ rows }, password] = await Promise.all([
    pool.query<ApproverRow>({ ...APPROVER, values: [asking.companyId, email] }),
    login.passwordHashOf(email),
  ])
  const [approver] = rows
  const hash = PIN.test(secret) ? approver?.pin_hash : password
  const isRight = await verifyPassword((approver && hash) ?? null, secret)
  if (!isRight || !approver) return { kind: 'wrong' }
  await refundAttempt(logins, counted.keys)
  return { kind: 'right', userId: approver.id }
}
