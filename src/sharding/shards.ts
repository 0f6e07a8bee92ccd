import { DEFAULT_SHARD } from '#config/databases.ts'
import { Unavailable } from '#lib/errors.ts'

/** The open shards of a process; unreachable ones are added once they can be reached. */
export interface Shards<T> {
  readonly main: T
  /** @throws Unavailable if the shard is unreachable or not configured */
  at(name: string): T
  /** Open shards, the default shard first. */
  present(): readonly { readonly name: string; readonly shard: T }[]
}

/** A view of the shards with these names, the default shard first; each is resolved on access. */
export function createShardsView<T>(names: readonly string[], find: (name: string) => T | undefined): Shards<T> {
  const at = (name: string): T => {
    const shard = find(name)
    if (shard === undefined) throw new Unavailable(`shard ${name} is unreachable`)
    return shard
  }
  return {
    get main() {
      return at(DEFAULT_SHARD)
    },
    at,
    present: () =>
      names.flatMap((name) => {
        const shard = find(name)
        return shard === undefined ? [] : [{ name, shard }]
      }),
  }
}
