import type { DataOf } from '#events/catalogue.ts'
import { byPk, table } from '#ledger/table.ts'
import type { Guard } from '#ledger/write/unit-of-work.ts'
import { companyRef } from './companies.ts'
import { type ChangedFields, changedColumns, existing, projection, stamp } from './define-projection.ts'

/** API key without its secret, as `/me`, the command line and the panel show it. */
export type ApiKeyObject = DataOf<'ApiKeyCreated'> & { created_at: string; revoked_at: string | null }

interface ApiKeyRow extends ChangedFields {
  company_id: number
  id: number
  expires_at: string | null
  revoked_at: string | null
  doc: ApiKeyObject
}

const apiKeys = table<ApiKeyRow>('api_keys', {
  about: 'API keys: name, scopes and end. Their hashes are in ops.api_key_secrets.',
  columns: {
    company_id: 'bigint',
    id: 'bigint',
    expires_at: 'timestamptz',
    revoked_at: 'timestamptz',
    ...changedColumns,
    doc: 'json',
  },
  keys: { pk: ['company_id', 'id'] },
  past: { id: 'id' },
})

export const apiKeyById = (id: number) => byPk(apiKeys, id)

/** SHA-256 of a key; schema `ops`, never in an event. */
export interface ApiKeySecret {
  company_id: number
  api_key_id: number
  hash: Buffer
}

export const apiKeySecrets = table<ApiKeySecret>('api_key_secrets', {
  columns: { company_id: 'bigint', api_key_id: 'bigint', hash: 'bytea' },
  keys: { pk: ['company_id', 'api_key_id'] },
})

export const apiKeysProjection = projection('api_keys', [apiKeys], {
  ApiKeyCreated: {
    apply(rows, event) {
      const { company_id } = companyRef(rows)
      const { id, name, prefix, scopes, expires_at } = event.data
      const created_at = event.recorded_at
      const doc: ApiKeyObject = { id, name, prefix, scopes, created_at, expires_at, revoked_at: null }
      rows.add(apiKeys, { company_id, id, expires_at, revoked_at: null, ...stamp(event), doc })
    },
  },
  ApiKeyRevoked: {
    refs: (event) => [apiKeyById(event.data.id)],
    apply(rows, event) {
      const before = existing(rows, apiKeyById(event.data.id))
      const revoked_at = event.recorded_at
      rows.put(apiKeys, { ...before, revoked_at, ...stamp(event), doc: { ...before.doc, revoked_at } })
    },
  },
})

/** Guard: the key is still valid (KEY-21). */
export const liveKey = (id: number): Guard => ({
  needs: [apiKeyById(id)],
  holds(rows, now) {
    const key = rows.get(apiKeyById(id))
    if (!key || key.revoked_at !== null) return false
    return key.expires_at === null || Date.parse(key.expires_at) > Date.parse(now)
  },
})
