import { randomBytes } from 'node:crypto'
import { KEY_BYTES, modeOf, newKey } from '#access/api-authenticator.ts'
import { CreateApiKeyInput, createApiKey, revokeApiKey } from '#commands/api-key-commands.ts'
import { rotateMasterKey } from '#crypto/master-key-registry.ts'
import { loadMasterKeys } from '#crypto/master-keys.ts'
import { invalid } from '#domain/refusals.ts'
import { parseScopes } from '#domain/rights.ts'
import { runAsSystem } from '#ledger/write/run.ts'
import type { ApiKeyObject } from '#projections/api-keys.ts'
import { accepted, companyIdFrom, givenFlags, parseIdArgument, Refused, type Verbs, validateInput } from './verb.ts'

export const keyVerbs: Omit<Verbs<'key'>, 'key list'> = {
  'key create': {
    async run(context, { company, name, scopes: text, 'expires-at': expires_at }) {
      const scopes = parseScopes(text)
      if (!scopes)
        throw new Refused(
          invalid('scopes', 'has an unknown scope: give all, read, or scopes such as sales:read,sales:write'),
        )
      const { core, companyId, isTest } = await companyIdFrom(context, company)
      const { key, prefix, hash } = newKey(randomBytes(KEY_BYTES), modeOf(isTest))
      const input = validateInput(CreateApiKeyInput, { name, scopes, prefix, hash, ...givenFlags({ expires_at }) })
      const { id, ...rest } = accepted(await runAsSystem<ApiKeyObject>(core.writer, companyId, createApiKey, input))
      return { id, key, ...rest }
    },
  },
  'key revoke': {
    async run(context, { company, key }) {
      const id = parseIdArgument(key)
      const { core, companyId } = await companyIdFrom(context, company)
      return accepted(await runAsSystem<ApiKeyObject>(core.writer, companyId, revokeApiKey, { id }))
    },
  },
}

export const masterKeyVerbs: Verbs<'master-key'> = {
  'master-key rotate': {
    async run(context) {
      const { pool } = await context.core()
      return rotateMasterKey(pool, loadMasterKeys(context.config))
    },
  },
}
