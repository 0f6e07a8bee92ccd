import { masterKeysOf } from '#master-key/keys.ts'
import { rotateMasterKey } from '#master-key/rotation.ts'
import type { Verbs } from './verb.ts'

export const verbs: Verbs<'master-key'> = {
  'master-key rotate': {
    async run(context) {
      const { pool } = await context.core()
      return rotateMasterKey(pool, masterKeysOf(context.config))
    },
  },
}
