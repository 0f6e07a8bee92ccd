/*
 * Second copy of what is recorded: a file of the Origin Private File System, one element a line, flushed to the disk
 * before the answer. Synchronous access exists in workers only.
 */
interface FileAccess {
  getSize(): number
  read(into: Uint8Array, options: { at: number }): number
  write(bytes: Uint8Array, options: { at: number }): number
  truncate(size: number): void
  flush(): void
}

type Order =
  | { readonly id: number; readonly kind: 'read' }
  | { readonly id: number; readonly kind: 'append'; readonly text: string }
  | { readonly id: number; readonly kind: 'clear' }

let opening: Promise<FileAccess> | undefined

async function open(): Promise<FileAccess> {
  const root = await navigator.storage.getDirectory()
  const file = await root.getFileHandle('registros.jsonl', { create: true })
  return (file as unknown as { createSyncAccessHandle(): Promise<FileAccess> }).createSyncAccessHandle()
}

async function run(order: Order): Promise<string> {
  opening ??= open()
  const file = await opening.catch((error: unknown) => {
    opening = undefined
    throw error
  })
  if (order.kind === 'read') {
    const bytes = new Uint8Array(file.getSize())
    file.read(bytes, { at: 0 })
    return new TextDecoder().decode(bytes)
  }
  if (order.kind === 'clear') file.truncate(0)
  else append(file, order.text)
  file.flush()
  return ''
}

/** A line is written whole or not at all. */
function append(file: FileAccess, text: string): void {
  const at = file.getSize()
  const bytes = new TextEncoder().encode(text)
  try {
    if (file.write(bytes, { at }) < bytes.length) throw new Error('journal: no room')
  } catch (error) {
    file.truncate(at)
    throw error
  }
}

/** Orders are run one after another. */
let last: Promise<void> = Promise.resolve()

addEventListener('message', ({ data }: MessageEvent<Order>) => {
  last = last.then(async () => {
    try {
      postMessage({ id: data.id, text: await run(data) })
    } catch (error) {
      postMessage({ id: data.id, error: String(error) })
    }
  })
})
