import { readModel } from '#projections/index.ts'
import { verb } from './verb.ts'

export const projectionVerbs = {
  rebuild: verb({
    summary: 'makes all tables of the read model anew from the ledgers',
    flags: {},
    async run(context) {
      const core = await context.core()
      const { events, companies, parity } = await core.rebuild((count) => process.stderr.write(`${count} events\n`))
      return { version: readModel.version, events, companies, parity }
    },
  }),
}
