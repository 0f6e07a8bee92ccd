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
import { findStore, listStores } from '#queries/stores.ts'
import {
  accepted,
  type Context,
  checked,
  companyOf,
  given,
  optional,
  Refused,
  required,
  secret,
  toggle,
  verb,
} from './verb.ts'

/** Runs a command on the store with an alias, which names its company too. */
async function onStore<I extends { alias: string }>(context: Context, command: Command<I>, input: I) {
  const { pool, writer } = await context.core()
  const store = await findStore(pool, input.alias)
  if (!store) throw new Refused(refuse('not_found', { alias: input.alias }))
  return accepted(await runAsSystem<StoreObject, I>(writer, store.companyId, command, input))
}

const switching = (summary: string, command: Command<SwitchStoreInput>) =>
  verb({
    summary,
    flags: { alias: required('ALIAS') },
    positional: 'alias',
    run: (context, values) => onStore(context, command, checked(SwitchStoreInput, values)),
  })

/** The provider's credentials and the secret that signs its notifications: kept to be used, never shown again. */
const secrets = { 'access-token': secret(optional('TOKEN')), 'notification-secret': secret(optional('SECRET')) }

interface Fields {
  readonly alias: string
  readonly commission?: string | undefined
  readonly 'access-token'?: string | undefined
  readonly 'notification-secret'?: string | undefined
}

const inputOf = ({ alias, commission, 'access-token': token, 'notification-secret': secret }: Fields) =>
  given({ alias, commission_percentage: commission, access_token: token, notification_secret: secret })

export const storeVerbs = {
  create: verb({
    summary: 'opens an online store; --sandbox for one that takes test payments only',
    flags: {
      company: required('ID'),
      alias: required('ALIAS'),
      commission: required('PERCENT'),
      sandbox: toggle,
      ...secrets,
    },
    async run(context, { company, sandbox, ...values }) {
      const input = checked(CreateStoreInput, { ...inputOf(values), sandbox: sandbox !== undefined })
      const core = await context.core()
      const companyId = await companyOf(core, company)
      return accepted(await runAsSystem<StoreObject, CreateStoreInput>(core.writer, companyId, createStore, input))
    },
  }),
  update: verb({
    summary: 'changes the commission of payments to come, or puts new secrets in the place of the old ones',
    flags: { alias: required('ALIAS'), commission: optional('PERCENT'), ...secrets },
    positional: 'alias',
    run: (context, values) => onStore(context, updateStore, checked(UpdateStoreInput, inputOf(values))),
  }),
  enable: switching('lets a store take orders, payments and notifications again', enableStore),
  disable: switching('closes a store: to its buyers and to the provider it does not exist', disableStore),
  list: verb({
    summary: 'lists the online stores of a company',
    flags: { company: required('ID') },
    async run(context, { company }) {
      const core = await context.core()
      const companyId = await companyOf(core, company)
      return listStores(core.pool, companyId)
    },
  }),
}
