import { PANEL_LIMITS } from '#access/panel-quota.ts'
import { registerCompany } from '#commands/companies.ts'
import { createUser } from '#commands/users.ts'
import { ensureLedger } from '#ledger/ledgers.ts'
import { runAsSystem } from '#ledger/write/run.ts'
import type { Mailer } from '#notifications/mailer.ts'
import { type Core, openCore } from '#service/core.ts'
import { createShardedAccess, type ShardedAccess } from '#sharding/cross-shard-access.ts'
import { type Directory, openDirectory } from '#sharding/directory.ts'
import { createNameReserver } from '#sharding/name-reservation.ts'
import { forgetEmails, type PersonDirectory } from '#sharding/persons.ts'
import { createShardsView, type Shards } from '#sharding/shards.ts'
import { type CutProxy, startCutProxy } from '../support/cut-proxy.ts'
import { companyRegistered } from '../support/facts.ts'
import { masterKeys } from '../support/master-key.ts'
import { cheapHash } from '../support/passwords.ts'

/** Two shards of one process: cores, a directory that can be cut off, and access. */
export interface TwoShards {
  readonly directory: Directory
  /** In front of `main`, used by the directory only. */
  readonly proxy: CutProxy
  readonly shards: Shards<Core>
  readonly persons: PersonDirectory & { readonly shards: Shards<Core> }
  readonly access: ShardedAccess
  readonly main: Core
  readonly south: Core
  /** Log messages. */
  readonly told: string[]
  /** Sent e-mails. */
  readonly mailed: { readonly to: readonly string[]; readonly text: string }[]
  /** Simulates an unreachable shard. */
  away(name: string, isAway: boolean): void
  /** Simulates another process. */
  another(): { readonly access: ShardedAccess; readonly directory: Directory }
  /** Company with an owner, who may be an existing person. */
  company(
    shard: string,
    email?: string,
  ): Promise<{ readonly id: number; readonly userId: number; readonly email: string }>
  settled(): Promise<void>
  close(): Promise<void>
}

export const PASSWORD = 'senha correta'
const hash = cheapHash(PASSWORD)

export async function openTwoShards(mainUrl: string, southUrl: string): Promise<TwoShards> {
  const { hostname, port } = new URL(mainUrl)
  const proxy = await startCutProxy(hostname, Number(port))
  const databaseUrl = Object.assign(new URL(mainUrl), { hostname: '127.0.0.1', port: String(proxy.port) }).href
  const told: string[] = []
  const log = (message: string) => void told.push(message)
  const directory = openDirectory({ databaseUrl, log })
  const cores = new Map<string, Core>()
  const awayNow = new Set<string>()
  const shards = createShardsView(['main', 'south'], (name) => (awayNow.has(name) ? undefined : cores.get(name)))
  const persons = { directory, shards, log }
  const forgetting = new Set<Promise<unknown>>()
  const open = async (name: string, url: string) =>
    cores.set(
      name,
      await openCore({
        masterKeys,
        databaseUrl: url,
        queryConnections: 4,
        log,
        onOutdated: () => {},
        reserve: createNameReserver(persons, name),
        onForgotten(former) {
          for (const each of former) forgetting.add(forgetEmails(persons, name, each).catch(() => {}))
        },
      }),
    )
  await open('main', mainUrl)
  await open('south', southUrl)
  await directory.addShard('south')
  const mailed: TwoShards['mailed'] = []
  const mailer = { send: async (mail: never) => void mailed.push(mail), close() {} } as unknown as Mailer
  const accessWith = (own: Directory) =>
    createShardedAccess({
      ...persons,
      directory: own,
      mailer,
      publicUrl: 'https://x.example',
      tokenDays: null,
      panelLimits: PANEL_LIMITS,
    })
  const others: Directory[] = []
  let companies = 0
  return {
    directory,
    proxy,
    shards,
    persons,
    access: accessWith(directory),
    main: cores.get('main') as Core,
    south: cores.get('south') as Core,
    told,
    mailed,
    away: (name, isAway) => void (isAway ? awayNow.add(name) : awayNow.delete(name)),
    another() {
      const own = openDirectory({ databaseUrl: mainUrl, log })
      others.push(own)
      return { access: accessWith(own), directory: own }
    },
    async company(shard, email = `dona${companies + 1}@loja.example`) {
      const id = ++companies
      await directory.register(id, shard)
      const { pool, writer } = shards.at(shard)
      await ensureLedger(pool, id)
      await runAsSystem(writer, id, registerCompany, companyRegistered({ id, name: `Loja ${id}` }).data as never)
      const user = { name: `Dona ${id}`, email, role: 'owner' as const, password_hash: await hash }
      const { id: userId } = (await runAsSystem(writer, id, createUser, user)) as { id: number }
      return { id, userId, email }
    },
    async settled() {
      await Promise.all(forgetting)
    },
    async close() {
      await Promise.all([...cores.values(), directory, ...others].map((each) => each.close()))
      await proxy.close()
    },
  }
}
