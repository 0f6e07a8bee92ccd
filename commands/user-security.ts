import type { Permission } from '#domain/permissions.ts'
import { refuse } from '#domain/refusal.ts'
import { type DataOf, event } from '#events/catalogue.ts'
import { accept, type Command, command, isRefusal } from '#ledger/command.ts'
import type { NewEvent } from '#ledger/envelope.ts'
import { userById } from '#projections/users.ts'
import { permitAll } from './permit.ts'

/**
 * Records an event about the login of an active user; users need no permission for their own. Links, secrets and codes
 * are stored by `src/access`, never in the event.
 */
const recordOf = <I extends { readonly id: number }>(make: (input: I) => NewEvent): Command<I> =>
  command<I>({
    needs: ({ id }) => [userById(id)],
    decide(rows, input, { actor, permit }) {
      const user = rows.get(userById(input.id))
      if (user?.doc.status !== 'active') return refuse('not_found')
      const needed: Permission[] = user.doc.role === 'owner' ? ['manage_users', 'manage_owners'] : ['manage_users']
      const granted = actor === `user/${input.id}` ? {} : permitAll(permit, needed)
      if (isRefusal(granted)) return granted
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
