import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { expect } from 'chai'
import fc from 'fast-check'
import type { Pool } from 'pg'
import { checkRoots } from '#integrity/merkle.ts'
import { COSIGNATURE, verifierKey, vkeyOf } from '#integrity/note.ts'
import { verifyLedger } from '#integrity/verify.ts'
import { type Envelope, GENESIS_HASH, streamOf } from '#ledger/command.ts'
import type { EventStore, StoredEvent } from '#ledger/port.ts'
import { createOutsideStore } from '../../support/outside-store.ts'
import { explore, TITLE } from '../../support/random.ts'
import { type Handed, HONEST, handedBy, TAMPERINGS } from './tamperings.ts'
import { parseVkey, type Report, verifyFiles } from './verifier.ts'
import { FIRST_VKEY, type Kept, runWorld, signingKey, WITNESS, type World } from './world.ts'

const WITNESS_VKEY = vkeyOf(verifierKey(WITNESS.name, signingKey(14).publicKey, COSIGNATURE))
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
  const stream = streamOf(company)
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
