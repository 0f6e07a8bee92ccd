import { registerCompany } from '#commands/companies.ts'
import { createCustomer } from '#commands/people/customers.ts'
import { createUser } from '#commands/users.ts'
import { type Config, configOf, readConfig } from '#config/config.ts'
import { DEFAULT_SHARD } from '#config/databases.ts'
import { runAsSystem } from '#ledger/write/run.ts'
import { type Core, openCore } from '#service/core.ts'
import { coreSettings } from '#service/core-settings.ts'
import { contentsOf } from '../ops/contents.ts'
import { companyRegistered } from '../support/facts.ts'
import { MASTER_KEY, masterKeys } from '../support/master-key.ts'
import { cheapHash } from '../support/passwords.ts'
import { openTwoShards, SOUTH, type TwoShards } from '../support/shards.ts'

/** Addresses of two shards and their store. */
export interface Places {
  readonly DATABASE_URL: string
  /** Without it each shard stores its own ledgers. */
  readonly EVENTSTORE_URL?: string
  readonly DATA_DIR: string
}

export const settingsOf = (places: Places): Config => readConfig({ ...places, MASTER_KEY })

export const openShards = (places: Places): Promise<TwoShards> =>
  openTwoShards(
    places.DATABASE_URL,
    () => {},
    ({ name, url, hooks }) =>
      openCore({
        ...coreSettings(configOf(settingsOf(places), name)),
        ...hooks,
        databaseUrl: url,
        masterKeys,
        queryConnections: 2,
        log: () => {},
        onOutdated: () => {},
      }),
  )

/** Creates companies on both shards alternately, with an owner and two customers each. Returns their ids by shard. */
export async function settleIn(
  { cores }: TwoShards,
  count: number,
): Promise<{ readonly main: number[]; readonly south: number[] }> {
  const ids = { main: [] as number[], south: [] as number[] }
  for (let n = 0; n < count; n++) {
    const { rows } = await cores.main.pool.query<{ id: number }>(`select nextval('ops.company_ids') as id`)
    const { id } = rows[0] as { id: number }
    const name = n % 2 === 0 ? DEFAULT_SHARD : SOUTH
    ids[name].push(id)
    await makeCompany(cores.at(name), id)
  }
  return ids
}

/** Number of events of each company. */
export const EVENTS = 4

async function makeCompany(core: Core, id: number): Promise<void> {
  await core.found(id)
  await runAsSystem(core.writer, id, registerCompany, companyRegistered({ id, name: `Loja ${id}` }).data as never)
  const email = `dona${id}@loja.example`
  const password_hash = await cheapHash('uma senha bem longa')
  await runAsSystem(core.writer, id, createUser, { name: `Dona ${id}`, email, role: 'owner', password_hash } as never)
  for (const name of ['Ana', 'Bento']) await addCustomer(core, id, name)
}

export const addCustomer = (core: Core, companyId: number, name: string): Promise<unknown> =>
  runAsSystem(core.writer, companyId, createCustomer, { name, email: null } as never)

export async function ledgersOf({ pool }: Pick<Core, 'pool'>): Promise<number[]> {
  const { rows } = await pool.query<{ company_id: number }>('select company_id from ops.ledgers order by 1')
  return rows.map(({ company_id }) => company_id)
}

/** Contents of a shard's read model, by table. */
export async function tablesOf(url: string): Promise<[string, unknown][]> {
  return Object.entries(await contentsOf(url)).filter(([name]) => name.startsWith('read.'))
}
