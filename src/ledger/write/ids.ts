import type { Pool } from 'pg'
import type { IdKind } from '#domain/id-kinds.ts'

/** Ids taken for one unit of work, given out synchronously while it decides. */
export interface IdLease {
  next(kind: IdKind): number
  /** Hands unused ids back, for the next lease. */
  giveBack(): void
}

export interface IdAllocator {
  /** Takes as many ids of each kind as a unit of work may use at most. */
  lease(counts: Partial<Record<IdKind, number>>): Promise<IdLease>
}

/** Blocks double up to this size: a command line takes the one id it needs, a busy service rarely asks. */
const MAX_BLOCK_SIZE = 64

/**
 * Ids in blocks from Postgres sequences. A block is fetched by a statement (and so a commit) of its own before any of it
 * is used: after a crash a sequence never hands out an id that an event in an external store carries already.
 */
export function createIdAllocator(pool: Pool): IdAllocator {
  const spare = new Map<IdKind, number[]>()
  const blocks = new Map<IdKind, number>()

  async function take(kind: IdKind, count: number): Promise<number[]> {
    const ids = spare.get(kind) ?? []
    spare.set(kind, ids)
    const taken = ids.splice(0, count)
    while (taken.length < count) {
      const wanted = Math.max(blocks.get(kind) ?? 1, count - taken.length)
      blocks.set(kind, Math.min(wanted * 2, MAX_BLOCK_SIZE))
      const result = await pool.query<{ id: number }>(
        `select nextval('ops.${kind}_ids') as id from generate_series(1, $1)`,
        [wanted],
      )
      const block = result.rows.map((row) => row.id)
      taken.push(...block.splice(0, count - taken.length))
      ids.push(...block)
    }
    return taken.sort((a, b) => a - b)
  }

  return {
    async lease(counts) {
      const kinds = Object.entries(counts) as [IdKind, number][]
      const taken = new Map(
        await Promise.all(kinds.map(async ([kind, count]) => [kind, await take(kind, count)] as const)),
      )
      return {
        next(kind) {
          const id = taken.get(kind)?.shift()
          if (id === undefined) throw new Error(`a command took more ids of kind ${kind} than it announced`)
          return id
        },
        giveBack() {
          for (const [kind, ids] of taken) spare.get(kind)?.unshift(...ids)
          taken.clear()
        },
      }
    },
  }
}
