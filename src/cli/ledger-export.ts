import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { invalid } from '#domain/refusal.ts'
import { exportLines } from '#integrity/audit/export.ts'
import type { Progress } from './progress.ts'
import { countEvents, Refused, readerFrom, type Verb, type Verbs } from './verb.ts'

const exportVerb: Verb<'ledger export'> = {
  async run(context, { company, from = '0' }) {
    if (!/^(0|[1-9]\d{0,14})$/.test(from))
      throw new Refused(invalid('from', 'deve ser um número inteiro a partir de 0'))
    const { companyId, ...reader } = await readerFrom(context, company)
    const lines = exportLines(reader.store, companyId, Number(from))
    context.progress.begin('events', Math.max(0, (await countEvents(reader, companyId)) - Number(from)))
    // On a terminal the events themselves show it.
    const counted = process.stdout.isTTY ? lines : counting(lines, context.progress)
    await pipeline(Readable.from(counted), process.stdout, { end: false }).catch((error: NodeJS.ErrnoException) => {
      // The reader closed the pipe, like `head`.
      if (error.code !== 'EPIPE') throw error
    })
    return undefined
  },
}

async function* counting(lines: AsyncIterable<string>, { add }: Pick<Progress, 'add'>): AsyncGenerator<string> {
  for await (const line of lines) {
    yield line
    add(1)
  }
}

export const verbs: Verbs<'ledger export'> = { 'ledger export': exportVerb }
