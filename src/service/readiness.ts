import type { Role } from '#config/config.ts'
import type { Core } from './core.ts'

/** States of the parts that a process needs, by name. */
export type Health = () => Promise<Readonly<Record<string, string>>>

/** A process that only delivers goes on delivering without the event store: it is not its part. */
export function healthOf(roles: readonly Role[], core: Pick<Core, 'health'>): Health {
  const needsStore = roles.some((role) => role !== 'dispatcher')
  return async () => {
    const { postgres, ...others } = await core.health()
    return { postgres: postgres ?? 'down', ...(needsStore && others) }
  }
}
