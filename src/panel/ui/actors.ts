import type { Envelope } from '#ledger/envelope.ts'
import { listActors } from '#queries/events.ts'
import type { Books } from '../route.ts'

/** Who did things, by name: whose key, or which user; the service itself has no name. */
export async function namesOfActors(
  { pool, companyId }: Books,
  events: readonly Pick<Envelope, 'actor'>[],
): Promise<(actor: string | null) => string> {
  const actors = [...new Set(events.flatMap(({ actor }) => actor ?? []))]
  const names = actors.length === 0 ? new Map<string, string>() : await listActors(pool, companyId, actors)
  return (actor) => (actor === null ? 'O sistema' : (names.get(actor) ?? actor))
}
