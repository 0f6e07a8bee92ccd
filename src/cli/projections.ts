import { readModel } from '#projections/index.ts'
import type { Verbs } from './verb.ts'

export const verbs: Verbs<'projections'> = {
  'projections rebuild': {
    async run(context) {
      const core = await context.core({ upgrades: true })
      const { events, companies, parity } = await core.rebuild((count) => process.stderr.write(`${count} events\n`))
      return { version: readModel.version, events, companies, parity }
    },
  },
}
