import { loadMasterKeys } from '#master-key/keys.ts'
import { rotateMasterKey } from '#master-key/rotation.ts'
import type { Verbs } from './verb.ts'

export const verbs: Verbs<'master-key'> = {
  'master-key rotate': {
    async run(context) {
      const homes = await context.homes()
      const pools = homes.map(({ core }) => core.pool)
      return rotateMasterKey(pools, loadMasterKeys(context.config))
    },
  },
}
