import type { Pool } from 'pg'
import * as z from 'zod'
import { Email } from '#domain/text.ts'
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

export const Pin = z
  .string()
  .regex(PIN, 'deve ter 6 dígitos')
  .refine((pin) => !isGuessable(pin), 'não pode ser uma sequência nem um dígito repetido')

/** What a person types to approve an operation of another user. */
interface ApproverCredentials {
  readonly email: string
  /** PIN or password. */
  readonly secret: string
}

interface ApprovalServices {
  /** Of the company. */
  readonly pool: Pool
  /** With the failure counters of logins. */
  readonly logins: Pool
  readonly login: Login
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
 * Verifies an active user of the company by PIN or password. Failures count as those of logins (ROLE-121); an unknown
 * address takes as long as a known one. What the user may approve is decided with the operation.
 */
export async function confirmApprover(
  { pool, logins, login }: ApprovalServices,
  companyId: number,
  { email: typed, secret }: ApproverCredentials,
  address: string,
): Promise<ApprovalOutcome> {
  const { data: email } = Email.safeParse(typed)
  if (email === undefined) return { kind: 'wrong' }
  const { rows } = await pool.query<ApproverRow>({ ...APPROVER, values: [companyId, email] })
  const [approver] = rows
  if (!PIN.test(secret)) {
    const confirmed = await login.confirm({ email, password: secret }, { address, isInside: true })
    if (confirmed.kind !== 'right') return confirmed
    return approver ? { kind: 'right', userId: approver.id } : { kind: 'wrong' }
  }
  const counted = await countAttempt(logins, { email, address, proof: 'inside' })
  if (counted.kind === 'limited') return counted
  const isRight = await verifyPassword(approver?.pin_hash ?? null, secret)
  if (!isRight || !approver) return { kind: 'wrong' }
  await refundAttempt(logins, counted.keys)
  return { kind: 'right', userId: approver.id }
}
