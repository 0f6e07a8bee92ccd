import { refuse } from '#domain/refusal.ts'
import { type DataOf, event } from '#events/catalogue.ts'
import { accept, type Command, command } from '#ledger/command.ts'
import type { NewEvent } from '#ledger/envelope.ts'
import { userById } from '#projections/users.ts'

/**
 * Records an event about the login of an active user. Links, secrets and codes are stored by `src/access`, never in the
 * event.
 */
const recordOf = <I extends { readonly id: number }>(make: (input: I) => NewEvent): Command<I> =>
  command<I>({
    needs: ({ id }) => [userById(id)],
    decide(rows, input) {
      const user = rows.get(userById(input.id))
      if (user?.doc.status !== 'active') return refuse('not_found')
      const recorded = make(input)
      return accept('updated', recorded.subject, [recorded])
    },
  })

export const recordPasswordLink = recordOf((data: DataOf<'UserPasswordLinkCreated'>) =>
  event('UserPasswordLinkCreated', data),
)
export const recordSecondFactor = recordOf((data: DataOf<'UserSecondFactorAdded'>) =>
  event('UserSecondFactorAdded', data),
)
export const recordSecondFactorRemoval = recordOf((data: DataOf<'UserSecondFactorRemoved'>) =>
  event('UserSecondFactorRemoved', data),
)
export const recordRecoveryCodes = recordOf((data: DataOf<'UserRecoveryCodesRenewed'>) =>
  event('UserRecoveryCodesRenewed', data),
)
