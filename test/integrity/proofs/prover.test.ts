import { execFileSync, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { expect } from 'chai'
import fc from 'fast-check'
import type { Pool } from 'pg'
import {
  appenderFrom,
  checkRoots,
  EMPTY_ROOT,
  isConsistent,
  isIncluded,
  leafHash,
  type TreeHead,
} from '#integrity/merkle.ts'
import { COSIGNATURE, formatVkey, verifierKey } from '#integrity/note.ts'
import {
  createProver,
  type EventProof,
  type GrowthProof,
  proveConsistency,
  proveInclusion,
  type SignedHead,
} from '#integrity/prover.ts'
import { emptyTree, growTree, growTrees, headOfTree, ledgerLog, TreeDiffers, type TreeLog } from '#integrity/trees.ts'
import { verifyLedger } from '#integrity/verify.ts'
import { type Envelope, GENESIS_HASH, streamName } from '#ledger/command.ts'
import type { EventStore, StoredEvent } from '#ledger/port.ts'
import { createPostgresStore } from '#ledger/stores/postgres-store.ts'
import { Unavailable } from '#lib/errors.ts'
import { createPool } from '#postgres/pool.ts'
import { proofVectors } from '../../../tools/proof-vectors.ts'
import { sealedAfter } from '../../ledger/sealed-events.ts'
import { useDatabase } from '../../support/database.ts'
import { createOutsideStore } from '../../support/outside-store.ts'
import { explore, TITLE } from '../../support/random.ts'
import { tamperBy } from '../../support/tamper.ts'
import { eventsOf, notePosition, writeLedger } from '../audit/tampering.ts'
import { type Handed, HONEST, handedBy, TAMPERINGS } from './tamperings.ts'
import { parseVkey, type Report, verifyFiles } from './verifier.ts'
import { FIRST_VKEY, type Kept, runWorld, signingKey, WITNESS, type World } from './world.ts'

const EVENTS = 300

const growing = { onError: (error: unknown) => expect.fail(String(error)) }

describe('proofs through the API', () => {
  const database = useDatabase()
  let pool: Pool
  let store: EventStore
  let companyId: number
  let leaves: Buffer[]
  let signed: SignedHead | null
  let now: number

  before(() => {
    pool = createPool(database.url, { max: 3 })
    store = createPostgresStore(pool)
  })
  after(() => pool.end())
  beforeEach(async () => {
    companyId = await writeLedger(pool, EVENTS)
    leaves = (await eventsOf(pool, companyId)).map(({ hash }) => leafHash(Buffer.from(hash, 'hex')))
    signed = null
    now = 0
  })

  function head(size: number): TreeHead {
    const appender = appenderFrom()
    for (const leaf of leaves.slice(0, size)) appender.append(leaf)
    return { size, root: appender.root() }
  }

  const sign = (size: number) => {
    signed = { ...head(size), note: `note of ${size}` }
  }
  const proverOf = (options = {}) =>
    createProver({ pool, store, newestOf: async () => signed, clock: () => now, ...options })

  function expectIncluded(found: unknown, revision: number, size: number, checkpoint: string | null): void {
    const proof = found as EventProof
    expect(proof).to.include({ revision, size, checkpoint })
    expect(leafHash(Buffer.from(proof.hash, 'hex')).equals(leaves[revision] as Buffer)).to.equal(true)
    expect(isIncluded(leaves[revision] as Buffer, { index: revision, ...head(size) }, proof.hashes)).to.equal(true)
    expect(proof.root.equals(head(size).root)).to.equal(true)
  }

  it('use the last signed size, else the current tree, or any requested size [PROOF-7]', async () => {
    const prover = proverOf()
    expectIncluded(await prover.inclusion(companyId, 7, null), 7, EVENTS, null)
    sign(200)
    expectIncluded(await prover.inclusion(companyId, 7, null), 7, 200, 'note of 200')
    expectIncluded(await prover.inclusion(companyId, 200, null), 200, EVENTS, null)
    expectIncluded(await prover.inclusion(companyId, 7, 200), 7, 200, 'note of 200')
    expectIncluded(await prover.inclusion(companyId, 7, 8), 7, 8, null)
    for (const size of [0, 7]) expect(await prover.inclusion(companyId, 7, size)).to.deep.equal({ available: EVENTS })
    expect(await prover.inclusion(companyId, 7, EVENTS + 1)).to.deep.equal({ available: EVENTS })
    expect(await prover.inclusion(companyId, EVENTS, null)).to.equal(null)
    signed = null
    expect(await prover.inclusion(companyId + 1_000, 0, null), 'of no company').to.equal(null)
  })

  it('show that a tree is consistent with an earlier one [PROOF-7]', async () => {
    const prover = proverOf()
    for (const [from, to] of [
      [0, 0],
      [0, EVENTS],
      [120, 121],
      [EVENTS, EVENTS],
    ] as const) {
      const { hashes, ...proof } = (await prover.consistency(companyId, from, to)) as GrowthProof
      expect(proof).to.deep.equal({ from, to, fromRoot: head(from).root, root: head(to).root })
      expect(isConsistent(head(from), head(to), hashes)).to.equal(true)
    }
    expect((await prover.consistency(companyId, 5, null)) as GrowthProof).to.include({ from: 5, to: EVENTS })
    expect(await prover.consistency(companyId, 6, 5)).to.deep.equal({ available: EVENTS })
    expect(await prover.consistency(companyId, 5, EVENTS + 1)).to.deep.equal({ available: EVENTS })
  })

  it('use a rebuilt tree if the stored one differs, without a rebuild per request [PROOF-5]', async () => {
    const prover = proverOf()
    sign(EVENTS)
    await prover.inclusion(companyId, 7, null)
    const tamper = () =>
      pool.query(`update ops.tree_tiles set hashes = overlay(hashes placing '\\x0000' from 40) where log = $1`, [
        companyId,
      ])
    await tamper()
    expectIncluded(await prover.inclusion(companyId, 7, null), 7, EVENTS, `note of ${EVENTS}`)
    await tamper()
    const again = () => prover.inclusion(companyId, 7, null).catch((error: unknown) => error)
    expect(await again()).to.be.instanceOf(TreeDiffers)
    now += 600_000
    expectIncluded(await again(), 7, EVENTS, `note of ${EVENTS}`)
  })

  it('are refused if the ledger differs from the signed one [PROOF-5]', async () => {
    sign(EVENTS)
    const note = signed?.note ?? ''
    signed = { size: EVENTS, root: leafHash(Buffer.from('x')), note }
    expect(
      await proverOf()
        .inclusion(companyId, 7, null)
        .catch((error: unknown) => error),
    ).to.be.instanceOf(TreeDiffers)
    sign(EVENTS)
    await tamperBy(pool, 'delete from ledger.events where stream = $1 and revision >= 290', [streamName(companyId)])
    expect(
      await proverOf()
        .inclusion(companyId, 295, null)
        .catch((error: unknown) => error),
    ).to.be.instanceOf(TreeDiffers)
  })

  it('wait for a tree under construction only up to the time limit of a request [PROOF-7]', async () => {
    companyId = await writeLedger(pool, 1_100)
    // The deadline passes at the first clock read after the start.
    let looks = 0
    const prover = proverOf({ clock: () => (looks++ === 0 ? 0 : 1e9) })
    expect(await prover.inclusion(companyId, 1_050, null).catch((error: unknown) => error)).to.be.instanceOf(
      Unavailable,
    )
    expect((await headOfTree(pool, companyId)).size).to.equal(1_024)
    expect(await prover.inclusion(companyId, 1_050, null)).to.include({ size: 1_100 })
  })

  it('use trees that were grown in the background [PROOF-4]', async () => {
    await growTrees({ pool, store }, { ...growing, stopping: AbortSignal.abort() })
    expect((await headOfTree(pool, companyId)).size).to.equal(0)
    await growTrees({ pool, store }, growing)
    expect(await headOfTree(pool, companyId)).to.deep.equal(head(EVENTS))
    await notePosition(pool, companyId, { revision: 9_999, hash: '' })
    await growTrees({ pool, store }, growing)
    expect((await headOfTree(pool, companyId)).size).to.equal(EVENTS)
  })
})

describe('the verifier', () => {
  const { files, cases } = proofVectors()
  let directory: string

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'tillbook-proof-'))
    for (const [name, text] of Object.entries(files)) await writeFile(join(directory, name), text)
  })
  after(() => rm(directory, { recursive: true }))

  for (const { title, keys, files: names, verdict, found } of cases) {
    it(`reports for ${title}: ${verdict} [PROOF-80]`, async () => {
      const paths = names.map((name) => join(directory, name))
      const report = await verifyFiles(paths, keys.map(parseVkey))
      const reasons = report.items.flatMap(({ file, reason }) => (reason === null ? [] : [[basename(file), reason]]))
      expect(Object.fromEntries(reasons.reverse())).to.deep.equal(found)
      expect(report.verdict).to.equal(verdict)
    })
  }

  it('refuses an event that parsers can read differently [PROOF-84]', async () => {
    const [first = '', second = ''] = (files['export.jsonl'] ?? '').split('\n')
    const changed: [how: string, line: string | Buffer][] = [
      ['a member twice', second.replace('"actor":', '"actor":null,"actor":')],
      ['a number in another notation', second.replace('"revision":1', '"revision":1.0')],
      ['a blank', second.replace('":', '": ')],
      ['an unnecessary escape', second.replace('"origin"', '"\\u006frigin"')],
      ['a lone surrogate', second.replace('😀', '\\ud83d')],
      ['another member', second.replace('{', '{"more":1,')],
      ['a missing member', second.replace('"request_id":null,', '')],
      ['a carriage return', `${second}\r`],
      ['invalid UTF-8', Buffer.from(second.replace('ã', '\u00ff'), 'latin1')],
      ['a byte order mark', `\ufeff${second}`],
      ['an empty line', ''],
    ]
    for (const [how, line] of changed) {
      const path = join(directory, 'strict.jsonl')
      await writeFile(path, Buffer.concat([Buffer.from(`${first}\n`), Buffer.from(line), Buffer.from('\n')]))
      const [item] = (await verifyFiles([path], [])).items
      expect(item?.reason, how).to.equal('malformed')
    }
  })

  it('is one file of less than 400 lines of code, and imports nothing but Node [PROOF-80]', () => {
    const text = readFileSync('verifier/tillbook-verify.mjs', 'utf8')
    const code = text.split('\n').filter((line) => !/^\s*($|\/\*\*|\*|\/\/)/.test(line))
    expect(code.length).to.be.lessThan(400)
    expect(code.filter((line) => /^import|import\(/.test(line)).every((line) => line.includes("'node:"))).to.equal(true)
  })
})

describe('the specification of proofs', () => {
  const { cases } = proofVectors()
  const hasPython = spawnSync('python3', ['-c', '']).status === 0
  const itWithPython = hasPython ? it : it.skip

  itWithPython(`suffices for a verifier in Python${hasPython ? '' : ': python3 is not installed'} [PROOF-82]`, () => {
    const args = ['test/integrity/proofs/verify.py', '--vectors', 'docs/proof/vectors.json']
    const reports = JSON.parse(execFileSync('python3', args, { encoding: 'utf8' }))
    expect(reports).to.deep.equal(cases.map(({ title, verdict, found }) => ({ title, verdict, found })))
  })
})

const WITNESS_VKEY = formatVkey(verifierKey(WITNESS.name, signingKey(14).publicKey, COSIGNATURE))
const RUNS = 80
/** The store takes part in no transaction. */
const NO_TRANSACTION = undefined as never

const plans = fc.record({
  plan: fc.record({
    lengths: fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 3 }),
    rounds: fc.integer({ min: 1, max: 3 }),
    turnsAfter: fc.integer({ min: 1, max: 3 }),
  }),
  kept: fc.array(fc.nat(), { minLength: 1, maxLength: 4 }),
  tampering: fc.constantFrom(...Object.keys(TAMPERINGS)),
  spot: fc.record({ company: fc.nat(), place: fc.nat({ max: 1_000 }), other: fc.nat({ max: 5_000 }) }),
  withEntries: fc.boolean(),
})

/** Whether all events covered by an attestation, from a revision on, are the original ones. */
function isUntouched({ ledgers }: World, { exports }: Handed, { covers: { company, size } }: Kept, from = 0): boolean {
  const events = (ledgers[company - 1] ?? []).slice(from, size)
  const lines = exports.get(company) ?? []
  return events.every((event, at) => isDeepStrictEqual(parsed(lines[at]), event))
}

/** First revision of a company's export, as the verifier reports it; earlier events are not included. */
const beginningOf = ({ items }: Report, { covers: { company } }: Kept): number =>
  items.find(({ kind, about }) => kind === 'export' && about?.startsWith(`company-${company} `))?.from ?? 0

function parsed(line: string | undefined): unknown {
  try {
    return JSON.parse(line ?? '')
  } catch {
    return undefined
  }
}

describe(`tampering with any data except the copies of attestors (${TITLE})`, () => {
  let directory: string
  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'tillbook-tampering-'))
  })
  after(() => rm(directory, { recursive: true }))

  async function write(name: string, text: string): Promise<string> {
    const path = join(directory, name)
    await writeFile(path, text)
    return path
  }

  async function verified(handed: Handed, kept: readonly Kept[], withEntries: boolean): Promise<Report> {
    const files = [write('keys.jsonl', handed.ring), ...kept.map(({ name, text }) => write(name, text))]
    for (const [company, lines] of handed.exports)
      files.push(write(`export-${company}.jsonl`, lines.map((line) => `${line}\n`).join('')))
    if (handed.exports.size === 0) files.push(write('export.jsonl', ''))
    if (withEntries) files.push(write('installation.entries', handed.entries))
    return verifyFiles(await Promise.all(files), [FIRST_VKEY, WITNESS_VKEY].map(parseVkey))
  }

  it('is found by the verifier, without false alarms [PROOF-80] [PROOF-81]', async () => {
    const seen = new Map<string, number>()
    await explore(
      fc.asyncProperty(plans, async ({ plan, kept: picks, tampering, spot, withEntries }) => {
        const world = runWorld(plan)
        const kept = [...new Set(picks.map((pick) => world.documents[pick % world.documents.length] as Kept))]
        const handed = handedBy(world)
        TAMPERINGS[tampering]?.(handed, { ...spot, company: 1 + (spot.company % plan.lengths.length) })
        const report = await verified(handed, kept, withEntries)
        const broken = kept.filter((each) => !isUntouched(world, handed, each))
        if (HONEST.includes(tampering)) expect(report.verdict, JSON.stringify(report.items)).to.equal('sound')
        const isTold = (each: Kept) => isUntouched(world, handed, each, beginningOf(report, each))
        if (!broken.every(isTold)) expect(report.verdict, JSON.stringify(report.items)).not.to.equal('sound')
        if (report.verdict !== 'sound') seen.set(tampering, (seen.get(tampering) ?? 0) + 1)
        // Attestations of untouched events are never reported as wrong, if key ring and installation log are present.
        const isOurs = handed.ring === world.ring && handed.entries === world.entries
        for (const { name } of isOurs ? kept.filter((each) => !broken.includes(each)) : [])
          for (const item of report.items.filter(({ file }) => file === join(directory, name)))
            expect(item.verdict, `${name} ${item.reason}`).not.to.equal('wrong')
      }),
      RUNS,
    )
    expect(seen.size).to.be.greaterThan(Object.keys(TAMPERINGS).length / 2)
  })

  it('is found by the verification of both stores [PROOF-81]', async () => {
    await explore(
      fc.asyncProperty(plans, async ({ plan, kept: picks, tampering, spot }) => {
        const world = runWorld(plan)
        const kept = picks.map((pick) => world.documents[pick % world.documents.length] as Kept)
        const handed = handedBy(world)
        TAMPERINGS[tampering]?.(handed, { ...spot, company: 1 + (spot.company % plan.lengths.length) })
        for (const each of kept) {
          const lines = handed.exports.get(each.covers.company) ?? []
          for (const store of await storesOf(each.covers.company, world, lines)) {
            const found = await verifyLedger({ pool: poolOf(lines), store }, each.covers.company, {
              anchors: each.anchor ? [each.anchor] : [],
              watch: checkRoots(each.head ? [each.head] : []),
            })
            if (HONEST.includes(tampering)) expect(found.first_error).to.equal(null)
            if (found.valid) expect(isUntouched(world, handed, each)).to.equal(true)
          }
        }
      }),
      RUNS,
    )
  })
})

/** The service's own position of the ledger, adjusted by the attacker. */
function poolOf(lines: readonly string[]): Pool {
  const last = parsed(lines.at(-1)) as Partial<Envelope> | undefined
  const head = { revision: lines.length - 1, hash: last?.hash ?? GENESIS_HASH }
  return { query: async () => ({ rows: [head] }) } as never
}

/** Postgres, which stores texts, and an outside store, which stores events. */
async function storesOf(company: number, world: World, lines: readonly string[]): Promise<EventStore[]> {
  const stream = streamName(company)
  async function* stored(): AsyncGenerator<StoredEvent> {
    for (const json of lines) yield { json, beside: {} }
  }
  const postgres = { transactional: true, stored } as unknown as EventStore
  const events = lines.map(parsed)
  if (!events.every((event) => typeof event === 'object' && event !== null)) return [postgres]
  const outside = createOutsideStore()
  const honest = world.ledgers[company - 1] ?? []
  await outside.append([{ stream, expectedRevision: -1, commands: [honest] }], NO_TRANSACTION)
  const inside = outside.events(stream) as Envelope[]
  inside.splice(0, inside.length, ...(events as Envelope[]))
  return [postgres, outside]
}

let logs = 1_000_000

/** Leaf data of an invented log, in batches. */
function logOf(leaves: readonly Buffer[], batch = 1_024, id = ++logs): TreeLog {
  return {
    id,
    async *leaves(from) {
      for (let start = from; start < leaves.length; start += batch) yield leaves.slice(start, start + batch)
    },
  }
}

const leavesOf = (size: number, salt = '') => Array.from({ length: size }, (_, index) => Buffer.from(`${salt}${index}`))

function headOf(leaves: readonly Buffer[]): TreeHead {
  const appender = appenderFrom()
  for (const leaf of leaves) appender.append(leafHash(leaf))
  return { size: leaves.length, root: appender.root() }
}

describe(`stored trees (${TITLE})`, () => {
  const database = useDatabase()
  let pool: Pool
  /** Pool of another process. */
  let other: Pool

  before(() => {
    pool = createPool(database.url, { max: 2 })
    other = createPool(database.url, { max: 2 })
  })
  after(() => Promise.all([pool.end(), other.end()]))

  /** Asserts that the sampled leaves and all earlier trees are included in the stored tree. */
  async function expectProofs(id: number, leaves: readonly Buffer[], places: readonly number[]) {
    const head = headOf(leaves)
    for (const index of places) {
      const leaf = leafHash(leaves[index] as Buffer)
      const { hashes, root } = await proveInclusion(pool, id, leaf, { index, size: head.size })
      expect(isIncluded(leaf, { index, ...head }, hashes) && root.equals(head.root), `leaf ${index}`).to.equal(true)
      const from = headOf(leaves.slice(0, index))
      const proof = await proveConsistency(pool, id, from.size, head.size)
      expect(isConsistent(from, head, proof.hashes), `from ${from.size}`).to.equal(true)
      expect(proof.fromRoot.equals(from.root) && proof.root.equals(head.root)).to.equal(true)
    }
  }

  it('prove any leaf and any earlier tree after concurrent growth by two processes and crashes [PROOF-4]', () =>
    explore(
      fc.asyncProperty(
        fc.array(
          fc.record({ more: fc.nat({ max: 700 }), batch: fc.integer({ min: 1, max: 300 }), dies: fc.nat({ max: 6 }) }),
          {
            minLength: 1,
            maxLength: 5,
          },
        ),
        fc.array(fc.nat(), { minLength: 1, maxLength: 4 }),
        async (steps, draws) => {
          const id = ++logs
          let leaves: Buffer[] = []
          for (const { more, batch, dies } of steps) {
            leaves = leavesOf(leaves.length + more)
            const whole = logOf(leaves, Math.max(batch, 40), id)
            const dying: TreeLog = {
              id,
              async *leaves(from) {
                let left = dies
                for await (const batch of whole.leaves(from)) {
                  if (left-- === 0) throw new Error('killed')
                  yield batch
                }
              },
            }
            const outcomes = await Promise.allSettled([growTree(other, dying), growTree(pool, whole)])
            expect(outcomes[1]).to.deep.equal({ status: 'fulfilled', value: headOf(leaves) })
          }
          if (leaves.length > 0)
            await expectProofs(
              id,
              leaves,
              draws.map((draw) => draw % leaves.length),
            )
        },
      ),
      12,
    ))

  it('have as many levels as they need, and stop growing on request [PROOF-4]', async () => {
    const leaves = leavesOf(66_000)
    const log = logOf(leaves)
    const part = await growTree(pool, log, () => true)
    expect(part.size).to.equal(1_024)
    await growTree(pool, log)
    expect(await headOfTree(pool, log.id)).to.deep.equal(headOf(leaves))
    await expectProofs(log.id, leaves, [0, 65_535, 65_536, 65_999])
  })

  it('cover the hashes of events, in both stores [PROOF-4]', async () => {
    const companyId = await writeLedger(pool, 1_030)
    const events = await eventsOf(pool, companyId)
    const head = headOf(events.map(({ hash }) => Buffer.from(hash, 'hex')))
    expect(await growTree(pool, ledgerLog(createPostgresStore(pool), companyId))).to.deep.equal(head)
    const outside = createOutsideStore()
    await outside.append([{ stream: streamName(companyId), expectedRevision: -1, commands: [events] }], null as never)
    await emptyTree(pool, companyId)
    expect(await growTree(pool, ledgerLog(outside, companyId))).to.deep.equal(head)
    expect(await growTree(pool, ledgerLog(outside, companyId + 1_000))).to.deep.equal({ size: 0, root: EMPTY_ROOT })
  })

  it('end before an event that is missing or has no hash [PROOF-4]', async () => {
    const store = createPostgresStore(pool)
    for (const tampering of [
      'delete from ledger.events where',
      `update ledger.events set envelope = '{"hash": 7}' where`,
    ]) {
      const companyId = await writeLedger(pool, 6)
      await tamperBy(pool, `${tampering} stream = $1 and revision = 4`, [streamName(companyId)])
      expect((await growTree(pool, ledgerLog(store, companyId))).size).to.equal(4)
    }
  })

  it('are rebuilt if the ledger was replaced or truncated [PROOF-5]', async () => {
    const store = createOutsideStore()
    const log = ledgerLog(store, 4_711)
    const write = (count: number, from: number) => {
      const events = sealedAfter(
        streamName(4_711),
        null,
        Array.from({ length: count }, () => ({ data: { from } })),
      )
      return events.map(({ hash }) => Buffer.from(hash, 'hex'))
    }
    for (const leaves of [write(700, 1), write(700, 2), write(300, 2), write(0, 2), write(900, 3)])
      expect(await growTree(pool, logOf(leaves, 100, log.id))).to.deep.equal(headOf(leaves))
  })

  it('return no tampered data, and are rebuilt after tampering is detected [PROOF-5]', () =>
    explore(
      fc.asyncProperty(fc.integer({ min: 2, max: 1_500 }), fc.nat(), fc.nat(), async (size, place, draw) => {
        const leaves = leavesOf(size)
        const log = logOf(leaves)
        await growTree(pool, log)
        const { rowCount } = await pool.query(
          `update ops.tree_tiles set hashes = overlay(hashes placing '\\x00ff' from 1 + $2::int % (length(hashes) - 1))
           where log = $1 and (level, index) = (select level, index from ops.tree_tiles where log = $1 order by random() limit 1)`,
          [log.id, place],
        )
        expect(rowCount).to.equal(1)
        const index = draw % size
        const leaf = leafHash(leaves[index] as Buffer)
        const head = headOf(leaves)
        const proved = async () => {
          const { hashes, root } = await proveInclusion(pool, log.id, leaf, { index, size })
          expect(isIncluded(leaf, { index, ...head }, hashes) && root.equals(head.root)).to.equal(true)
        }
        try {
          // A tile that this proof does not need may have any content.
          await proved()
        } catch (error) {
          if (!(error instanceof TreeDiffers)) throw error
          await emptyTree(pool, log.id)
        }
        leaves.push(Buffer.from('one more'))
        expect(await growTree(pool, log)).to.deep.equal(headOf(leaves))
        await proved()
      }),
      15,
      1,
    ))

  it('report missing tiles [PROOF-5]', async () => {
    const log = logOf(leavesOf(300))
    await growTree(pool, log)
    await pool.query('delete from ops.tree_tiles where log = $1 and level = 0 and index = 0', [log.id])
    const prove = proveInclusion(pool, log.id, leafHash(Buffer.from('1')), { index: 1, size: 300 })
    expect(await prove.catch((error: unknown) => error)).to.be.instanceOf(TreeDiffers)
  })
})
