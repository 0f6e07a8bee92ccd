import type { Recorded } from './records.ts'

/** The second copy of what was recorded and not yet sent. */
export interface Journal {
  read(): Promise<Recorded[]>
  append(records: readonly Recorded[]): Promise<void>
  clear(): Promise<void>
}

/** Lines that a power cut has cut off are left out: what they should have said was never finished. */
export function readLines(text: string): Recorded[] {
  const records: Recorded[] = []
  for (const line of text.split('\n')) {
    try {
      const record = JSON.parse(line) as Recorded
      if (typeof record.key === 'string' && typeof record.element?.till?.number === 'number') records.push(record)
    } catch {}
  }
  return records
}

/** A line begins on a new line even after one that was cut off. */
export const toLines = (records: readonly Recorded[]): string =>
  records.map((record) => `\n${JSON.stringify(record)}\n`).join('')

export function openJournal(worker: Worker): Journal {
  const waiting = new Map<number, { resolve: (text: string) => void; reject: (error: Error) => void }>()
  let next = 0
  worker.addEventListener('message', ({ data }: MessageEvent<{ id: number; text?: string; error?: string }>) => {
    const order = waiting.get(data.id)
    waiting.delete(data.id)
    if (data.error === undefined) order?.resolve(data.text ?? '')
    else order?.reject(new Error(data.error))
  })
  worker.addEventListener('error', () => {
    for (const { reject } of waiting.values()) reject(new Error('journal: the worker has failed'))
    waiting.clear()
  })
  const ask = (order: object) =>
    new Promise<string>((resolve, reject) => {
      next += 1
      waiting.set(next, { resolve, reject })
      worker.postMessage({ ...order, id: next })
    })
  return {
    read: async () => readLines(await ask({ kind: 'read' })),
    append: async (records) => void (await ask({ kind: 'append', text: toLines(records) })),
    clear: async () => void (await ask({ kind: 'clear' })),
  }
}
