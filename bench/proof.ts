import { v7 as uuidv7 } from 'uuid'
import { registerSale, SaleInput } from '#commands/sales/register-sale.ts'
import { verifyLedger } from '#integrity/audit/verify.ts'
import { checkRoots } from '#integrity/proofs/root-check.ts'
import { emptyTree, growTree, ledgerLog } from '#integrity/proofs/trees.ts'
import { invoke } from '#ledger/command.ts'
import { type Envelope, hashOf, streamOf } from '#ledger/envelope.ts'
import { inTransaction } from '#postgres/transaction.ts'
import type { Core } from '#service/core.ts'
import type { Books } from './books.ts'
import { administer, withOwnDatabase } from './database.ts'
import type { Environment } from './environment.ts'
import { isNamed, type Options } from './options.ts'
import type { Line } from './report.ts'
import { saleBody } from './sale-requests.ts'
import { createShops, run, type Shop, withCore } from './shop.ts'

const EVENTS = 1_000_000
const APPENDED_AT_ONCE = 1_000
const PROOFS = 500

const VERIFY = 'proof-verify'
const INCLUSION = 'proof-inclusion'
const CONSISTENCY = 'proof-consistency'
const GROWTH = 'proof-growth'
export const PROOF_BENCHMARKS: readonly string[] = [VERIFY, INCLUSION, CONSISTENCY, GROWTH]

/** Verified events per second. */
const VERIFIED_PER_SECOND = 30_000
/** Milliseconds for one proof. */
const LONGEST_PROOF_MS = 20
/** 3 % of the 1,300 µs of a sale (docs/performance.md). */
const GROWTH_US_AN_EVENT = 40

/** A ledger of 1,000,000 events. Writing it takes minutes, so it must be named. */
export async function benchProof({ database }: Environment, options: Options, _books: Books): Promise<Line[]> {
  if (!isNamed(options, PROOF_BENCHMARKS)) return []
  return withOwnDatabase(database, async (url, ownerUrl) => {
    const [shop] = await createShops(url, 1)
    if (!shop) throw new Error('there is no shop to prove anything of')
    const size = await withCore(url, (core) => fill(core, shop))
    await administer(ownerUrl, (client) => client.query('vacuum (analyze) ledger.events'))
    return withCore(url, async (core) => [
      await growth(core, shop, size),
      await proofs(core, shop, size, INCLUSION),
      await proofs(core, shop, size, CONSISTENCY),
      await verification(core, shop, size),
    ])
  })
}

/** Copies of a registered sale, as the store stores them. Returns the number of events. */
async function fill(core: Core, shop: Shop): Promise<number> {
  const stream = streamOf(shop.companyId)
  await run(core, shop.companyId, [invoke(registerSale, SaleInput.parse(saleBody(shop, 'venda-1')))])
  let last: Envelope | null = null
  for await (const event of core.store.read(stream, 0)) last = event
  if (!last) throw new Error('the sale is not there')
  let previous: Envelope = last
  while (previous.revision < EVENTS - 1) {
    const expectedRevision = previous.revision
    const events = Array.from({ length: Math.min(APPENDED_AT_ONCE, EVENTS - 1 - expectedRevision) }, () => {
      const { hash: previous_hash, data, ...members } = previous
      const next = { ...members, id: uuidv7(), revision: previous.revision + 1, previous_hash }
      previous = { ...next, hash: hashOf({ ...next, data }), data }
      return previous
    })
    const append = { stream, expectedRevision, commands: events.map((event) => [event]) }
    await inTransaction(core.pool, (tx) => core.store.append([append], tx))
  }
  await core.pool.query('update ops.ledgers set revision = $2, hash = $3 where company_id = $1', [
    shop.companyId,
    previous.revision,
    previous.hash,
  ])
  return previous.revision + 1
}

interface Times {
  readonly wall_ms: number
  /** Of this process, without Postgres. */
  readonly processor_ms: number
}

async function timed(work: () => Promise<unknown>): Promise<Times> {
  const [start, before] = [performance.now(), process.cpuUsage()]
  await work()
  const { user, system } = process.cpuUsage(before)
  return { wall_ms: performance.now() - start, processor_ms: (user + system) / 1_000 }
}

/** Growth from empty, then by single events as in a quiet shop: the last tile is written each time. */
async function growth({ pool, store }: Core, { companyId }: Shop, size: number): Promise<Line> {
  const log = ledgerLog(store, companyId)
  const whole = await timed(() => growTree(pool, log))
  tell(GROWTH, `${size} events`, whole)
  await emptyTree(pool, companyId)
  const isLate = (at: number) =>
    async function* (from: number) {
      for await (const leaves of log.leaves(from)) {
        if (from + leaves.length <= at) yield leaves
        else yield leaves.slice(0, at - from)
        from += leaves.length
        if (from >= at) return
      }
    }
  await growTree(pool, { id: companyId, leaves: isLate(size - PROOFS) })
  const steps = await timed(async () => {
    for (let at = size - PROOFS + 1; at <= size; at++) await growTree(pool, { id: companyId, leaves: isLate(at) })
  })
  tell(GROWTH, `${PROOFS} times one event more`, steps)
  return line(GROWTH, 'µs an event', (1_000 * whole.wall_ms) / size, GROWTH_US_AN_EVENT, false)
}

async function proofs({ prover }: Core, { companyId }: Shop, size: number, name: string): Promise<Line> {
  const walls: number[] = []
  const all = await timed(async () => {
    for (let count = 0; count < PROOFS; count++) {
      // Spread over the ledger without an order.
      const place = (count * 7_919_993) % size
      const prove = () =>
        name === INCLUSION ? prover.inclusion(companyId, place, null) : prover.consistency(companyId, place, null)
      walls.push((await timed(prove)).wall_ms)
    }
  })
  walls.sort((a, b) => a - b)
  const [p50, p95] = [0.5, 0.95].map((share) => walls[Math.floor(share * PROOFS)] as number) as [number, number]
  console.log(`${name}: p50 ${p50.toFixed(1)} ms`)
  tell(name, `${PROOFS} proofs`, all)
  return line(name, 'ms (p95)', p95, LONGEST_PROOF_MS, false)
}

async function verification(core: Core, { companyId }: Shop, size: number): Promise<Line> {
  const verify = async (watch?: ReturnType<typeof checkRoots>) => {
    const { valid } = await verifyLedger(core, companyId, watch ? { watch } : {})
    if (!valid) throw new Error('the ledger is broken')
  }
  const chain = await timed(() => verify())
  tell(VERIFY, 'the chain alone', chain)
  const whole = await timed(() => verify(checkRoots([])))
  tell(VERIFY, 'with its tree', whole)
  return line(VERIFY, 'events/s', (1_000 * size) / whole.wall_ms, VERIFIED_PER_SECOND, true)
}

const tell = (name: string, what: string, { wall_ms, processor_ms }: Times): void =>
  console.log(`${name}: ${what}: ${Math.round(wall_ms)} ms, ${Math.round(processor_ms)} ms of processor time`)

const line = (name: string, unit: string, value: number, floor: number, higher_is_better: boolean): Line => ({
  name,
  value: Math.round(value * 10) / 10,
  unit,
  floor,
  ratio: Math.round((1_000 * value) / floor) / 1_000,
  target: 1,
  higher_is_better,
  against: higher_is_better ? 'what it has to do' : 'what it may take',
  spreads: [],
})
