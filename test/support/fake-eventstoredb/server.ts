import { Server, ServerCredentials } from '@grpc/grpc-js'
import { type AppendCall, append, type BatchCall, batchAppend, type Failing, type Fault } from './appends.ts'
import { createLog, type Recorded } from './log.ts'
import { features, ServerFeaturesService, StreamsService } from './protocol.ts'
import { type ReadCall, read } from './reads.ts'
import { startRelay } from './relay.ts'

/** In-memory server with the protocol of EventStoreDB; fails on command. */
export interface FakeEventStoreDb {
  readonly url: string
  /** All appended events, in order, system events included. */
  readonly all: readonly Recorded[]
  /** Faults of the next appends, in order. */
  readonly faults: Fault[]
  /** Number of calls by name, such as `Append`, without connections. */
  readonly calls: ReadonlyMap<string, number>
  /** Reads and subscriptions under way. */
  openReads(): number
  /** Simulates a power failure: connections break, and the port is closed until `start`. */
  kill(): Promise<void>
  start(): Promise<void>
  /** Breaks connections; the server continues. */
  reset(): void
  /** Accepts connections and never answers, until `thaw`. */
  freeze(): void
  thaw(): void
  close(): Promise<void>
}

/** The value `no` lets the server know only separate appends, as old ones do: for runs of all tests with both. */
const { FAKE_EVENTSTOREDB_BATCHES } = process.env

export async function startFakeEventStoreDb({
  batches = FAKE_EVENTSTOREDB_BATCHES !== 'no',
} = {}): Promise<FakeEventStoreDb> {
  const log = createLog()
  const faults: Fault[] = []
  const calls = new Map<string, number>()
  const count = (name: string) => calls.set(name, (calls.get(name) ?? 0) + 1)
  let openReads = 0
  const failing: Failing = {
    next: () => faults.shift() ?? 'none',
    cut: () => relay.reset(),
    leaderPort: () => relay.port,
  }
  const server = new Server()
  server.addService(ServerFeaturesService, {
    getSupportedMethods(_call: unknown, answer: (error: null, value: unknown) => void) {
      count('GetSupportedMethods')
      answer(null, supported(batches))
    },
  })
  server.addService(StreamsService, {
    read(call: ReadCall) {
      count('Read')
      openReads += 1
      call.once('close', () => {
        openReads -= 1
      })
      read(log, call)
    },
    append(call: AppendCall, answer: Parameters<typeof append>[2]) {
      count('Append')
      append(log, call, answer, failing)
    },
    ...(batches && {
      batchAppend(call: BatchCall) {
        count('BatchAppend')
        batchAppend(log, call, failing)
      },
    }),
    delete: unused,
    tombstone: unused,
  })
  const relay = await startRelay(await listen(server))
  let isUp = true
  return {
    url: `esdb://127.0.0.1:${relay.port}?tls=false`,
    all: log.all,
    faults,
    calls,
    openReads: () => openReads,
    async kill() {
      if (isUp) await relay.cut()
      isUp = false
    },
    async start() {
      relay.thaw()
      if (!isUp) await relay.listen()
      isUp = true
    },
    reset: relay.reset,
    freeze: relay.freeze,
    thaw: relay.thaw,
    async close() {
      if (isUp) await relay.cut()
      isUp = false
      server.forceShutdown()
    },
  }
}

function listen(server: Server): Promise<number> {
  return new Promise((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, port) =>
      error ? reject(error) : resolve(port),
    )
  })
}

function supported(batches: boolean) {
  const names = ['read', 'append', ...(batches ? ['batchappend'] : [])]
  const methods = names.map((name) =>
    new features.SupportedMethod().setServiceName('event_store.client.streams.streams').setMethodName(name),
  )
  return new features.SupportedMethods().setEventStoreServerVersion('23.10.3').setMethodsList(methods)
}

function unused(): never {
  throw new Error('the service has no use for this call')
}
