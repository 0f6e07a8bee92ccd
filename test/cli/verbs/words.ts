import { expect } from 'chai'
import { parseCommandLine } from '#cli/arguments.ts'
import { load } from '#cli/perform.ts'
import { Refused } from '#cli/verb.ts'
import type { Refusal } from '#domain/refusals.ts'
import { type Core, openCore } from '#service/core.ts'
import type { Json } from '../../support/api.ts'
import { contextOf } from '../../support/context.ts'
import { useDatabase } from '../../support/database.ts'
import { masterKeys } from '../../support/master-key.ts'

export const CNPJ = '11222333000181'

interface Words {
  readonly core: Core
  /** Id of the company "Loja Azul", as text. */
  readonly company: string
  /** Result of a command. */
  run(...words: string[]): Promise<Json>
  /** Refusal of a command; fails if the command succeeds. */
  refused(...words: string[]): Promise<Refusal>
}

/** Runs commands in this process with the argument parser of the command line. */
export function useWords(): Words {
  const database = useDatabase()
  let core: Core
  let company: string

  before(async () => {
    core = await openCore({
      masterKeys,
      databaseUrl: database.url,
      queryConnections: 2,
      log: () => {},
      onOutdated: () => {},
    })
    company = String(
      (
        await run(
          'company',
          'create',
          '--name',
          'Loja Azul',
          '--cnpj',
          CNPJ,
          '--plan',
          'api',
          '--without-payment-types',
        )
      ).id,
    )
  })
  after(() => core.close())

  async function run(...words: string[]): Promise<Json> {
    const { name, values } = parseCommandLine(words)
    const verb = await load(name)
    return verb.run(contextOf(core), values as Parameters<typeof verb.run>[1])
  }

  return {
    get core() {
      return core
    },
    get company() {
      return company
    },
    run,
    async refused(...words) {
      const error = await run(...words).catch((reason: unknown) => reason)
      expect(error).to.be.instanceOf(Refused)
      return (error as Refused).refusal
    },
  }
}
