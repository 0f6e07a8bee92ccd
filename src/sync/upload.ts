import type { Pool } from 'pg'
import { z } from 'zod'
import type { Session } from '#access/tokens.ts'
import type { OfflineSale } from '#commands/sales/offline-sale-input.ts'
import { Problem } from '#http/problems.ts'
import { type Invocation, isRefusal } from '#ledger/command.ts'
import { asUser, runCommands } from '#ledger/write/run.ts'
import type { CommandResult, Reply } from '#ledger/write/unit-of-work.ts'
import type { Writer } from '#ledger/write/writer.ts'
import { noteRefusals } from '#offline-sales/refused-sales.ts'
import { parse, sendSuccess } from './answer.ts'
import { LIST_BODY_BYTES, type SyncRoute } from './route.ts'
import { sessionOf } from './session.ts'
import { composeAnswer, readUpload, type Upload, type UploadAnswer } from './upload-results.ts'

/** Sales of one upload at most; a till with more sends them in several. */
export const MAX_SALES = 1_000

/** Items of the sales of one unit of work: more of them are no faster, and let others wait longer. */
const PORTION_LINES = 1_000

/** What is in the list is judged sale by sale. */
const Body = z.object({ sales: z.array(z.unknown()).max(MAX_SALES, `no máximo ${MAX_SALES} vendas por envio`) })

interface Options {
  readonly pool: Pool
  readonly writer: Writer
}

/**
 * Sales made offline (spec, Endpoints): each is recorded or refused by itself, and the answer is 200 whatever became of
 * them. Sending an upload again records nothing twice, so a till that heard no answer just does so.
 */
export const uploadRoute = ({ pool, writer }: Options): SyncRoute => ({
  method: 'post',
  path: '/sync/sales',
  bodyBytes: LIST_BODY_BYTES,
  async handle(request, response) {
    const session = sessionOf(response)
    const upload = await readUpload(parse(Body, request.body).sales)
    const answer = await record(writer, upload, session, response.locals.requestId as string)
    const entries = answer.results.map((result, position) => ({ sale: upload.sales[position], result }))
    await noteRefusals(pool, session, entries)
    sendSuccess(response, answer)
  },
})

const RESULTS: Reply = {
  status: () => 200,
  // As text, because of several attempts to commit the one that is answered need not be the last one composed.
  compose: (results) => ({ status: 200, body: JSON.stringify(results) }),
  withoutBodies: true,
}

async function record(writer: Writer, upload: Upload, session: Session, requestId: string): Promise<UploadAnswer> {
  const done: CommandResult[] = []
  for (const invocations of portionsOf(upload)) {
    const answer = await runCommands(writer, asUser(session, requestId), invocations, { reply: RESULTS })
    if (isRefusal(answer)) throw new Problem(answer.refused, answer.details)
    done.push(...(JSON.parse(answer.body) as CommandResult[]))
  }
  return composeAnswer(upload, done)
}

/** Most uploads are one portion, and one commit. A long one is cut, so that nobody has to wait for all of it. */
function* portionsOf({ invocations }: Upload): Iterable<Invocation[]> {
  let portion: Invocation[] = []
  let lines = 0
  for (const invocation of invocations) {
    portion.push(invocation)
    lines += (invocation.input as OfflineSale).items.length
    if (lines < PORTION_LINES) continue
    yield portion
    portion = []
    lines = 0
  }
  if (portion.length > 0) yield portion
}
