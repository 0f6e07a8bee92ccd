import { z } from 'zod'
import { refuse } from '#domain/refusal.ts'
import { event } from '#events/catalogue.ts'
import { accept, type Command, command } from '#ledger/command.ts'
import { storeByAlias } from '#projections/stores.ts'
import { Alias } from './store-input.ts'

export const SwitchStoreInput = z.strictObject({ alias: Alias })
export type SwitchStoreInput = z.infer<typeof SwitchStoreInput>

/** Switching to what it is already changes nothing. */
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

/** From now on the store takes no orders and no payments, and to the provider it does not exist. */
export const disableStore = switchTo(false)
