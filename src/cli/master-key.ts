import { rotateMasterKey } from '#crypto/master-key-rotation.ts'
import { loadMasterKeys } from '#crypto/master-keys.ts'
import type { Verbs } from './verb.ts'

export const verbs: Verbs<'master-key'> = {
  'master-key rotate': {
    async run(context) {
      const { pool } = await context.core()
      return rotateMasterKey(pool, loadMasterKeys(context.config))
    },
  },
}
