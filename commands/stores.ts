import { z } from 'zod'
import { normalizePercentage, Percentage } from '#domain/percentage.ts'
import { expects } from '#domain/portuguese.ts'
import { refuse } from '#domain/refusal.ts'
import { event } from '#events/catalogue.ts'
import { STORE_SECRETS } from '#events/stores.ts'
import { accept, type Command, command } from '#ledger/command.ts'
import { companyOf, ownCompany } from '#projections/companies.ts'
import { type StoreSecrets, storeByAlias, storeSecrets, storeSecretsByAlias } from '#projections/stores.ts'
import { changesBetween, isEmpty } from './records.ts'

const ALIAS = 'deve ter de 2 a 60 letras minúsculas sem acento, algarismos e hifens entre eles, como "minha-loja"'

/** The store in a URL: lower-case words with hyphens between them. */
export const Alias = z
  .string(expects(ALIAS))
  .min(2, ALIAS)
  .max(60, ALIAS)
  .regex(/^[a-z0-9]+(?:-[a-z0-9]+)*$/, ALIAS)

const SECRET = 'deve ter de 1 a 500 caracteres ASCII visíveis, sem espaços'

/** As the provider gives it, of whatever length it likes; other characters are a mistake of pasting. */
const Secret = z.string(expects(SECRET)).regex(/^[\x21-\x7e]{1,500}$/, SECRET)

/** Both may come later: without a token the store cannot be paid, without a secret its notifications come unsigned. */
const secretsShape = { access_token: Secret.optional(), notification_secret: Secret.optional() }

type Secrets = Readonly<Partial<Record<(typeof STORE_SECRETS)[number], string | null | undefined>>>

/** Names of the secrets that are given: all that an event may know of them. */
const namesOf = (secrets: Secrets) => STORE_SECRETS.filter((name) => secrets[name] !== undefined)

/** The secrets are kept in `ops`, not in the event. */
export const CreateStoreInput = z.strictObject({
  alias: Alias,
  /** The service's share of what the store is paid. */
  commission_percentage: Percentage,
  sandbox: z.boolean().default(false),
  ...secretsShape,
})
export type CreateStoreInput = z.infer<typeof CreateStoreInput>

/** Opens an online store. Its alias belongs to one store of the whole service, for ever. */
export const createStore = command<CreateStoreInput>({
  needs: ({ alias }) => [ownCompany, storeSecretsByAlias(alias), storeByAlias(alias)],
  decide(rows, { alias, commission_percentage, sandbox: wanted, ...secrets }, { companyId, nextId }) {
    // Nothing of a test company is real, whatever was asked for (KIT-40).
    const sandbox = wanted || companyOf(rows).is_test
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
    const kept = { access_token, notification_secret }
    const row: StoreSecrets = { store_id: id, company_id: companyId, alias, secrets: kept }
    return accept('created', created.subject, [created], [{ table: storeSecrets, row }])
  },
})

/** What is absent is left alone. The alias and the sandbox are for ever: payments under way refer to them. */
export const UpdateStoreInput = z.strictObject({
  alias: Alias,
  commission_percentage: Percentage.optional(),
  ...secretsShape,
})
export type UpdateStoreInput = z.infer<typeof UpdateStoreInput>

/** Of a store whose secrets were lost with a process that died before its commit. */
const NO_SECRETS = { access_token: null, notification_secret: null }

/** Changes the commission of payments to come, and replaces secrets. */
export const updateStore = command<UpdateStoreInput>({
  needs: ({ alias }) => [storeByAlias(alias), storeSecretsByAlias(alias)],
  decide(rows, { alias, commission_percentage, access_token, notification_secret }, { companyId }) {
    const store = rows.get(storeByAlias(alias))
    if (!store) return refuse('not_found')
    const { id } = store
    const held = rows.get(storeSecretsByAlias(alias))
    if (held && held.store_id !== id) return refuse('duplicate_resource', { field: 'alias' })
    const kept = held?.secrets ?? NO_SECRETS
    const secrets = {
      access_token: access_token ?? kept.access_token,
      notification_secret: notification_secret ?? kept.notification_secret,
    }
    const row: StoreSecrets = { store_id: id, company_id: companyId, alias, secrets }
    const changes = changesBetween(store.doc, {
      commission_percentage: commission_percentage && normalizePercentage(commission_percentage),
    })
    const replaced = namesOf(changesBetween(kept, secrets))
    const events = [
      ...(isEmpty(changes) ? [] : [event('StoreUpdated', { id, changes })]),
      ...(replaced.length === 0 ? [] : [event('StoreSecretsReplaced', { id, secrets: replaced })]),
    ]
    if (events.length === 0) return accept('unchanged', `store/${id}`)
    return accept('updated', `store/${id}`, events, [{ table: storeSecrets, row }])
  },
})

export const SwitchStoreInput = z.strictObject({ alias: Alias })
export type SwitchStoreInput = z.infer<typeof SwitchStoreInput>

const switchTo = (enabled: boolean): Command<SwitchStoreInput> =>
  command({
    needs: ({ alias }) => [storeByAlias(alias)],
    decide(rows, { alias }) {
      const store = rows.get(storeByAlias(alias))
      if (!store) return refuse('not_found')
      const { id } = store
      if (store.enabled === enabled) return accept('unchanged', `store/${id}`)
      return accept('updated', `store/${id}`, [event(enabled ? 'StoreEnabled' : 'StoreDisabled', { id })])
    },
  })

/** Takes orders, payments and notifications again. */
export const enableStore = switchTo(true)

/** The store takes no orders and no payments any more, and answers notifications as if it did not exist. */
export const disableStore = switchTo(false)
