import { createWriteStream } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { resolve } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { auditPack } from '#integrity/audit/pack.ts'
import { beginPack } from '#panel/audit-pack/begin.ts'
import { companyIdFrom, type Verbs } from './verb.ts'

export const verbs: Verbs<'audit pack'> = {
  'audit pack': {
    async run(context, { company, to, opened }) {
      const { core, companyId } = await companyIdFrom(context, company)
      const options = { isOpened: opened === 'true', now: new Date().toISOString() }
      const pack = await beginPack(core, companyId, options)
      const path = resolve(to)
      const draft = `${path}.draft`
      try {
        let counted: number | null = null
        const onProgress = (done: number, total: number) => {
          if (counted === null) context.progress.begin('lines', total)
          context.progress.add(done - (counted ?? 0))
          counted = done
        }
        const stream = auditPack(core, pack, onProgress, new AbortController().signal)
        // Written with mode 0600, and renamed when complete.
        await pipeline(stream, createWriteStream(draft, { mode: 0o600, flush: true }))
        await rename(draft, path)
      } finally {
        await rm(draft, { force: true })
      }
      const { head, covered } = pack
      return { file: path, events: head.revision + 1, covered: covered ?? 0, hash: head.hash }
    },
  },
}
