import { z } from 'zod'
import { normalizePercentage } from '#domain/percentage.ts'
import { refuse } from '#domain/refusal.ts'
import { event } from '#events/catalogue.ts'
import { accept, command } from '#ledger/command.ts'
import { type StoreSecrets, storeByAlias, storeSecrets, storeSecretsByAlias } from '#projections/stores.ts'
import { Alias, Commission, namesOf, secretsShape } from './store-input.ts'

/** The secrets go where they can be used, and not into the event. */
export const CreateStoreInput = z.strictObject({
  alias: Alias,
  commission_percentage: Commission,
  sandbox: z.boolean().default(false),
  ...secretsShape,
})
export type CreateStoreInput = z.infer<typeof CreateStoreInput>

/** Opens an online store. Its alias belongs to one store of the whole service, for ever. */
export const createStore = command<CreateStoreInput>({
  needs: ({ alias }) => [storeSecretsByAlias(alias), storeByAlias(alias)],
  ids: () => ({ store: 1 }),
  decide(rows, { alias, commission_percentage, sandbox, ...secrets }, { companyId, nextId }) {
    const own = rows.get(storeByAlias(alias))
    if (own) return refuse('duplicate_resource', { field: 'alias', conflicting_id: own.id })
    // Nobody learns more of another company's store than that the alias is taken.
    if (rows.get(storeSecretsByAlias(alias))) return refuse('duplicate_resource', { field: 'alias' })
    const id = nextId('store')
    const created = event('StoreCreated', {
      id,
      alias,
      commission_percentage: normalizePercentage(commission_percentage),
      sandbox,
      secrets: namesOf(secrets),
    })
    const { access_token = null, notification_secret = null } = secrets
    const row: StoreSecrets = { store_id: id, company_id: companyId, alias, access_token, notification_secret }
    return accept('created', created.subject, [created], [{ table: storeSecrets, row }])
  },
})
