import { z } from 'zod'
import { normalizePercentage } from '#domain/percentage.ts'
import { refuse } from '#domain/refusal.ts'
import { event } from '#events/catalogue.ts'
import { accept, command } from '#ledger/command.ts'
import { type StoreSecrets, storeByAlias, storeSecrets, storeSecretsByAlias } from '#projections/stores.ts'
import { changesBetween, isEmpty } from '../records/changes.ts'
import { Alias, Commission, namesOf, secretsShape } from './store-input.ts'

/** What is absent is left alone. The alias and the sandbox are for ever: payments under way refer to them. */
export const UpdateStoreInput = z.strictObject({
  alias: Alias,
  commission_percentage: Commission.optional(),
  ...secretsShape,
})
export type UpdateStoreInput = z.infer<typeof UpdateStoreInput>

/** Of a store whose secrets were lost with the process that was about to keep them: they are set anew. */
const NO_SECRETS = { access_token: null, notification_secret: null }

/** Changes the commission of payments to come, and puts new secrets in the place of the old ones. */
export const updateStore = command<UpdateStoreInput>({
  needs: ({ alias }) => [storeByAlias(alias), storeSecretsByAlias(alias)],
  decide(rows, { alias, commission_percentage, access_token, notification_secret }, { companyId }) {
    const store = rows.get(storeByAlias(alias))
    if (!store) return refuse('not_found')
    const { id } = store
    const held = rows.get(storeSecretsByAlias(alias))
    if (held && held.store_id !== id) return refuse('duplicate_resource', { field: 'alias' })
    const kept = held ?? { ...NO_SECRETS, store_id: id, company_id: companyId, alias }
    const secrets: StoreSecrets = {
      ...kept,
      access_token: access_token ?? kept.access_token,
      notification_secret: notification_secret ?? kept.notification_secret,
    }
    const changes = changesBetween(store.doc, {
      commission_percentage: commission_percentage && normalizePercentage(commission_percentage),
    })
    const replaced = namesOf(changesBetween(kept, secrets))
    const events = [
      ...(isEmpty(changes) ? [] : [event('StoreUpdated', { id, changes })]),
      ...(replaced.length === 0 ? [] : [event('StoreSecretsReplaced', { id, secrets: replaced })]),
    ]
    if (events.length === 0) return accept('unchanged', `store/${id}`)
    return accept('updated', `store/${id}`, events, [{ table: storeSecrets, row: secrets }])
  },
})
