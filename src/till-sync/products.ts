import type { Outgoing, StreamWrite } from '#http/outgoing.ts'
import { parseInput } from '#http/problems.ts'
import type { EncodedText } from '#lib/bytes.ts'
import { createTimeSlicer } from '#lib/time-slicing.ts'
import type { PoolOf } from '#postgres/shared-pool.ts'
import { checkProducts, listProductsForTill } from '#queries/catalog/products-for-till.ts'
import { parseEach } from './answer.ts'
import { tillSessionOf } from './auth.ts'
import { SYNC_OPERATIONS } from './operations.ts'
import { KnownProduct, ProductCheck, ProductQuery } from './requests.ts'
import type { SyncRoute } from './route.ts'

/** Products for tills, all or changed ones, and changes that a till does not know yet (SYNC-10, SYNC-12, SYNC-15). */
export function productRoutes(poolOf: PoolOf, outgoing: Outgoing): SyncRoute[] {
  return [
    {
      ...SYNC_OPERATIONS.products,
      async handle(request, response) {
        const { companyId } = tillSessionOf(response)
        const { last_sync } = parseInput(ProductQuery, request.query)
        await outgoing.send(response, companyId, async (write) => {
          write('{"success":true,"data":[')
          const read = await listProductsForTill(poolOf(companyId), companyId, last_sync, separated(write))
          if (!read) return
          write(`],"sync_timestamp":"${read.syncTimestamp}","total":${read.total}`)
          write(read.deleted === null ? '}' : `,"deleted":[${read.deleted}]}`)
        })
      },
    },
    {
      ...SYNC_OPERATIONS.conflicts,
      async handle(request, response) {
        const { companyId } = tillSessionOf(response)
        const { products } = parseInput(ProductCheck, request.body)
        const known = await parseEach(KnownProduct, 'products', products, createTimeSlicer(companyId))
        await outgoing.send(response, companyId, async (write) => {
          let found = false
          const conflicts = separated(write)
          write('{"success":true,"conflicts":[')
          const checkedAt = await checkProducts(poolOf(companyId), companyId, known, (records) => {
            found = true
            return conflicts(records)
          })
          if (checkedAt) write(`],"has_conflicts":${found},"checked_at":"${checkedAt}"}`)
        })
      },
    },
  ]
}

/** Puts commas between the pieces of a list. */
function separated(write: StreamWrite): (records: EncodedText) => boolean {
  let comma = ''
  return (records) => {
    const goesOn = write(comma, records)
    comma = ','
    return goesOn
  }
}
