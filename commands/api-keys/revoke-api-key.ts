import { z } from 'zod'
import { refuse } from '#domain/refusal.ts'
import { Id } from '#domain/text.ts'
import { event } from '#events/catalogue.ts'
import { accept, command } from '#ledger/command.ts'
import { apiKeyById } from '#projections/api-keys.ts'

export const RevokeApiKeyInput = z.strictObject({ id: Id })
export type RevokeApiKeyInput = z.infer<typeof RevokeApiKeyInput>

/** Ends a key for good, in every process with its next call. An expired one can be revoked too. */
export const revokeApiKey = command<RevokeApiKeyInput>({
  needs: ({ id }) => [apiKeyById(id)],
  decide(rows, { id }) {
    const key = rows.get(apiKeyById(id))
    if (!key) return refuse('not_found')
    if (key.revoked_at) return accept('unchanged', `api_key/${id}`)
    return accept('updated', `api_key/${id}`, [event('ApiKeyRevoked', { id })])
  },
})
