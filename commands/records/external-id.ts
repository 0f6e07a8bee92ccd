import { invalid, type Refusal } from '#domain/refusal.ts'
import { ExternalId } from '#domain/text.ts'

/**
 * The input of PUT by-external: the body under the external id of the path. A body may repeat it, and another one in it is
 * a mistake that must not rename the record.
 */
export function atExternalId<B extends { external_id?: string | null }>(
  externalId: string,
  body: B,
): (Omit<B, 'external_id'> & { external_id: string }) | Refusal {
  const parsed = ExternalId.safeParse(externalId)
  if (!parsed.success) return invalid('external_id', parsed.error.issues[0]?.message ?? 'tem um valor inválido')
  if (body.external_id !== undefined && body.external_id !== parsed.data) {
    return invalid('external_id', 'deve ser igual ao do endereço')
  }
  return { ...body, external_id: parsed.data }
}
