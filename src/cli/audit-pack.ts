import { createWriteStream } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { resolve } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { auditPack } from '#integrity/audit/pack.ts'
import { beginPack } from '#panel/audit-pack/begin.ts'
import { companyIdFrom, type Verbs } from './verb.ts'

/** Writes progress to another stream: standard output carries only the result. */
function createProgressWriter(stream: NodeJS.WriteStream) {
  let reported = -1
  return (done: number, total: number): void => {
    const percent = Math.floor((done / total) * 100)
    if (percent === reported) return
    reported = percent
    const isLast = done === total
    if (stream.isTTY) stream.write(`\r${percent}% (${done} of ${total} lines)${isLast ? '\n' : ''}`)
    else if (percent % 10 === 0) stream.write(`${percent}% (${done} of ${total} lines)\n`)
  }
}

export const verbs: Verbs<'audit pack'> = {
  'audit pack': {
    async run(context, { company, to, opened }) {
      const { core, companyId } = await companyIdFrom(context, company)
      const options = { isOpened: opened === 'true', now: new Date().toISOString() }
      const pack = await beginPack(core, companyId, options)
      const path = resolve(to)
      const draft = `${path}.draft`
      try {
        const stream = auditPack(core, pack, createProgressWriter(process.stderr), new AbortController().signal)
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
