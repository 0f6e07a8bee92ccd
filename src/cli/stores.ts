import {
  CreateStoreInput,
  createStore,
  disableStore,
  enableStore,
  SwitchStoreInput,
  UpdateStoreInput,
  updateStore,
} from '#commands/stores.ts'
import { refuse } from '#domain/refusal.ts'
import type { Command } from '#ledger/command.ts'
import { runAsSystem } from '#ledger/write/run.ts'
import type { StoreObject } from '#projections/stores.ts'
import { findStore } from '#queries/stores.ts'
import {
  accepted,
  type Context,
  companyIdFrom,
  givenFlags,
  Refused,
  type Verb,
  type Verbs,
  validateInput,
} from './verb.ts'

/** Runs a command on the store with an alias, which also identifies its company. */
async function onStore<I extends { alias: string }>(context: Context, command: Command<I>, input: I) {
  const { pool, vault, writer } = await context.core()
  const store = await findStore(pool, vault, input.alias)
  if (!store) throw new Refused(refuse('not_found', { alias: input.alias }))
  return accepted(await runAsSystem<StoreObject, I>(writer, store.companyId, command, input))
}

const switchVerb = (command: Command<SwitchStoreInput>): Verb<'store enable' | 'store disable'> => ({
  run: (context, values) => onStore(context, command, validateInput(SwitchStoreInput, values)),
})

interface Fields {
  readonly alias: string
  readonly commission?: string | undefined
  readonly 'registers-sales'?: string | undefined
  readonly 'access-token'?: string | undefined
  readonly 'notification-secret'?: string | undefined
}

const YES_OR_NO: Readonly<Record<string, boolean>> = { yes: true, no: false }

/** Any other text than yes or no is refused by the command's schema. */
const inputOf = ({ alias, commission, 'registers-sales': sales, ...secrets }: Fields) =>
  givenFlags({
    alias,
    commission_percentage: commission,
    registers_sales: sales === undefined ? undefined : (YES_OR_NO[sales] ?? sales),
    access_token: secrets['access-token'],
    notification_secret: secrets['notification-secret'],
  })

export const verbs: Omit<Verbs<'store'>, 'store list'> = {
  'store create': {
    async run(context, { company, sandbox, ...values }) {
      const input = validateInput(CreateStoreInput, { ...inputOf(values), sandbox: sandbox !== undefined })
      const { core, companyId } = await companyIdFrom(context, company)
      return accepted(await runAsSystem<StoreObject, CreateStoreInput>(core.writer, companyId, createStore, input))
    },
  },
  'store update': {
    run: (context, values) => onStore(context, updateStore, validateInput(UpdateStoreInput, inputOf(values))),
  },
  'store enable': switchVerb(enableStore),
  'store disable': switchVerb(disableStore),
}
