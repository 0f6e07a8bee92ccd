import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** What a till may meet: nothing answers, the answer is lost, every call or one poisoned element gets a status. */
export type ServiceFault = 'none' | 'gone' | 'lost' | `answer ${number}` | `poison ${number}`

/** The service behind a line that fails on demand; a new version makes the till's worker another one. */
export interface FaultyTillService {
  readonly url: string
  set(fault: ServiceFault): void
  publishVersion(): void
  close(): Promise<void>
}

const REFUSED = JSON.stringify({ success: false, message: 'não' })

export async function openFaultyTillService(target: string): Promise<FaultyTillService> {
  let fault: ServiceFault = 'none'
  let version = 0
  let poisoned: string | undefined
  const refuse = (answer: ServerResponse, status: number) =>
    void answer.writeHead(status, { 'content-type': 'application/json' }).end(REFUSED)

  /** The first element that is met stays the poisoned one until the fault is over. */
  function isPoisoned(body: Buffer): boolean {
    const ids = [...body.toString().matchAll(/"offline_id":"([^"]+)"/g)].map(([, id = '']) => id)
    poisoned ??= ids[0]
    return poisoned !== undefined && ids.includes(poisoned)
  }

  async function handle(call: IncomingMessage, answer: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of call) chunks.push(chunk as Buffer)
    const body = Buffer.concat(chunks)
    const [kind, status] = fault.split(' ')
    const isSync = call.url?.startsWith('/api/sync/') === true
    if (kind === 'gone') return void call.destroy()
    if (kind === 'answer' && isSync) return refuse(answer, Number(status))
    if (kind === 'poison' && isSync && isPoisoned(body)) return refuse(answer, Number(status))
    const isWorker = call.url === '/caixa/worker.js'
    const headers = { ...call.headers, ...(isWorker && { 'accept-encoding': 'identity' }) }
    const sent = request(new URL(call.url ?? '/', target), { method: call.method, headers }, async (reply) => {
      if (kind === 'lost' && isSync) return void reply.resume().on('end', () => call.destroy())
      const { 'content-length': _length, ...rest } = reply.headers
      answer.writeHead(reply.statusCode ?? 500, isWorker ? rest : reply.headers)
      if (!isWorker) return void reply.pipe(answer)
      const parts: Buffer[] = []
      for await (const part of reply) parts.push(part as Buffer)
      answer.end(Buffer.concat(parts).toString().replace('="caixa-', `="caixa-v${version}-`))
    })
    sent.on('error', () => call.destroy())
    sent.end(body)
  }

  const server = createServer((call, answer) => void handle(call, answer).catch(() => call.destroy()))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    set(next) {
      fault = next
      poisoned = undefined
    },
    publishVersion() {
      version += 1
    },
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
