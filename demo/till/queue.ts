import { readFile } from 'node:fs/promises'
import { replaceFile } from '#lib/replace-file.ts'
import type { OfflineSale } from './sale.ts'

/** What the till has sold and the service has not confirmed yet, oldest first. */
export interface Queue {
  add(sale: OfflineSale): Promise<void>
  /** The first of those that wait. */
  first(count: number): readonly OfflineSale[]
  readonly size: () => number
  /** These need not be sent any more. */
  remove(offlineIds: ReadonlySet<string>): Promise<void>
}

/** A queue in a JSON file, which another run of the till finds again; in memory without one. */
export async function openQueue(path: string | null): Promise<Queue> {
  let sales: OfflineSale[] = path === null ? [] : await load(path)
  const keep = async (changed: OfflineSale[]) => {
    // On disk before it counts: a sale that the till has confirmed to the customer must survive a power failure.
    if (path !== null) await replaceFile(path, JSON.stringify(changed))
    sales = changed
  }
  return {
    add: (sale) => keep([...sales, sale]),
    first: (count) => sales.slice(0, count),
    size: () => sales.length,
    remove: (offlineIds) => keep(sales.filter((sale) => !offlineIds.has(sale.offline_id))),
  }
}

async function load(path: string): Promise<OfflineSale[]> {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '[]'
    throw error
  })
  const sales = parsed(text)
  if (!Array.isArray(sales)) throw new Error(`${path} is not a queue of sales`)
  return sales
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
