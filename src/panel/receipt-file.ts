import type { RequestHandler } from 'express'
import { JSON_TYPE } from '#http/answer.ts'
import { pathId } from '#http/paths.ts'
import { Problem } from '#http/problems.ts'
import { receiptOf } from '#integrity/proofs/make-receipt.ts'
import type { ResponseTarget } from './answer.tsx'

/** Route path of a sale's receipt file, below the panel. */
export const RECEIPT_FILE_PATH = '/vendas/:id/recibo/arquivo'

export const receiptFilePath = (saleId: number): string => RECEIPT_FILE_PATH.replace(':id', String(saleId))

/** Sends the same file as `GET /sales/{id}/receipt`. */
export const receiptFileDownload =
  (): RequestHandler =>
  async ({ params }, response) => {
    const { context, primary } = (response.locals.place as ResponseTarget).visit
    const id = pathId(params.id as string)
    const made =
      id === null ? null : await receiptOf({ ...context.proofs, store: context.reads.store, reader: primary }, id)
    if (!made) throw new Problem('not_found')
    response.setHeader('Content-Type', JSON_TYPE)
    response.setHeader('Content-Disposition', `attachment; filename="recibo-venda-${id}.json"`)
    response.send(JSON.stringify(made.receipt))
  }
