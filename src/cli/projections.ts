import { readModel } from '../../projections/index.ts'
import { rebuildReadModel } from '../ledger/read-schema.ts'
import { verb } from './verb.ts'

export const projectionVerbs = {
  rebuild: verb({
    summary: 'makes all tables of the read model anew from the ledgers',
    flags: {},
    async run(context) {
      const { pool, store } = await context.core()
      return { version: readModel.version, events: await rebuildReadModel(pool, store, readModel) }
    },
  }),
}
