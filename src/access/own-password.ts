import { changePassword } from '#commands/users/change-password.ts'
import type { Refusal } from '#domain/refusal.ts'
import { isRefusal } from '#ledger/command.ts'
import { asUser, runAs } from '#ledger/write/run.ts'
import type { Writer } from '#ledger/write/writer.ts'
import type { Holder, Login, NotEntered } from './login.ts'
import { hashPassword } from './passwords.ts'
import type { PanelSession } from './sessions.ts'

export interface OwnPassword {
  /** Any text; only the right one fits. */
  readonly current: string
  /** As `Password` gives it. */
  readonly next: string
}

/** Where the request came from, as the events and the limits of failures know it. */
export interface From {
  readonly address: string
  readonly requestId: string
}

export type PasswordOutcome = { readonly kind: 'changed'; readonly holder: Holder } | NotEntered | Refusal

/**
 * Changes the password of whoever is logged in. It closes all tokens and sessions of the user, this one too: the caller issues a
 * new one to the `holder`. `wrong` is the current password; guesses at it count as those of a login.
 */
export async function changeOwnPassword(
  { login, writer }: { readonly login: Login; readonly writer: Writer },
  { userId, companyId, email }: Pick<PanelSession, 'userId' | 'companyId' | 'email'>,
  { current, next }: OwnPassword,
  { address, requestId }: From,
): Promise<PasswordOutcome> {
  const confirmed = await login.confirm({ email, password: current }, address)
  if (confirmed.kind !== 'right') return confirmed
  const changed = await runAs(writer, asUser({ companyId, userId }, requestId), changePassword, {
    id: userId,
    password_hash: await hashPassword(next),
    verified_hash: confirmed.passwordHash,
  })
  if (isRefusal(changed)) return changed
  // The password was the confirmed one until then, so no other change lies in between. Whoever was shut out meanwhile stays out.
  const { holder } = confirmed
  return { kind: 'changed', holder: { ...holder, generation: holder.generation + 1 } }
}
