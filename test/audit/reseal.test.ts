import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import type { Pool } from 'pg'
import { type Cipher, resealLedgers } from '#audit/reseal.ts'
import { mappingFileOf, NoMapping, readMapping } from '#audit/reseal-mapping.ts'
import { makeSigningKey, type SigningKey } from '#audit/signing-key.ts'
import { verifyLedger } from '#audit/verify.ts'
import { type Envelope, streamOf } from '#ledger/envelope.ts'
import type { EventStore, OutsideStore } from '#ledger/port.ts'
import { createPostgresStore } from '#ledger/stores/postgres.ts'
import { OtherVersion } from '#lib/other-version.ts'
import { createPool } from '#postgres/pool.ts'
import { makeCheckpoint } from '#proof/checkpoints.ts'
import { SealAltered } from '#proof/seals-kept.ts'
import { collect } from '../ledger/event-store-contract.ts'
import { startApi, type TestCompany } from '../support/api.ts'
import { useDatabase } from '../support/database.ts'
import { createOutsideStore } from '../support/outside-store.ts'

/** Stands for the real one: a name is sealed by turning it round. */
const turned = (text: string) => [...text].reverse().join('')
const SEALED = 'sealed:'

/** `crash` is asked before each batch is sealed. */
const cipherOf = (crash: () => boolean = () => false): Cipher => ({
  async seal(_companyId, events) {
    if (crash()) throw new Error('killed')
    return events.map((event) =>
      renamed(event, (name) => (name.startsWith(SEALED) ? name : `${SEALED}${turned(name)}`)),
    )
  },
  async open(_companyId, events) {
    return events.map((event) =>
      renamed(event, (name) => (name.startsWith(SEALED) ? turned(name.slice(SEALED.length)) : name)),
    )
  },
})

function renamed(event: Envelope, rename: (name: string) => string): Envelope {
  const { name } = event.data as { name?: string }
  return typeof name === 'string' ? { ...event, data: { ...event.data, name: rename(name) } } : event
}

const withoutHashes = ({ hash: _hash, previous_hash: _previous, data: _data, ...rest }: Envelope) => rest

for (const place of ['Postgres', 'an outside store'] as const) {
  describe(`ledgers that are resealed into ${place}`, () => {
    const database = useDatabase()
    let pool: Pool
    let directory: string
    let key: SigningKey
    let company: TestCompany
    let store: EventStore
    let target: OutsideStore | null
    let original: Envelope[]

    before(async () => {
      pool = createPool(database.url, { max: 3, statement_timeout_ms: 0, application_name: 'tillbook reseal' })
      store = createPostgresStore(pool)
      target = place === 'Postgres' ? null : createOutsideStore()
      directory = await mkdtemp(join(tmpdir(), 'tillbook-reseal-'))
      key = await makeSigningKey(join(directory, 'key.pem'))
      const api = await startApi(database.url)
      company = await api.company()
      await api.company()
      const items = Array.from({ length: 700 }, (_, n) => ({ external_id: `c-${n}`, name: `Cliente ${n}` }))
      for (let sent = 0; sent < items.length; sent += 350)
        await company.post('/customers/batch', { items: items.slice(sent, sent + 350) })
      await api.close()
      await pool.query('insert into ops.clear_ledgers select company_id from ops.ledgers on conflict do nothing')
      original = await collect(store.read(streamOf(company.id), 0))
    })
    after(async () => {
      await pool.end()
      await rm(directory, { recursive: true })
    })

    const now = () => '2026-11-22T12:00:00.000Z'
    const reseal = (cipher = cipherOf()) => resealLedgers({ pool, store, target, cipher, key, directory, now })
    const since = () => target ?? store
    const headOf = async (companyId: number) => {
      const { rows } = await pool.query('select revision, hash from ops.ledgers where company_id = $1', [companyId])
      return rows[0] as { revision: number; hash: string }
    }

    it('leaves everything as it was when it is interrupted, and what was altered before is refused', async () => {
      let batches = 0
      const head = await headOf(company.id)
      const failure = await reseal(cipherOf(() => ++batches === 2)).catch((error: Error) => error)
      expect(failure).to.have.property('message', 'killed')
      expect(await headOf(company.id)).to.deep.equal(head)
      expect(await collect(store.read(streamOf(company.id), 0))).to.deep.equal(original)
      await pool.query(`update ledger.events set subject = 'customer/999999' where stream = $1 and revision = 3`, [
        streamOf(company.id),
      ])
      expect(await reseal().catch((error: Error) => error.message)).to.include('columns_differ at revision 3')
      await pool.query(`update ledger.events set subject = envelope->>'subject' where stream = $1 and revision = 3`, [
        streamOf(company.id),
      ])
      expect(await headOf(company.id)).to.deep.equal(head)
    })

    it('are the same events under other hashes, whole, with the old ones kept aside [PRIV-52]', async () => {
      const { events, known, mappings } = await reseal()
      expect(known, 'of the interrupted run').to.be.above(0)
      expect(events).to.be.above(700)
      expect(mappings).to.have.length(2)
      const after = await collect(since().read(streamOf(company.id), 0))
      expect(after.map(withoutHashes)).to.deep.equal(original.map(withoutHashes))
      const opened = await cipherOf().open(company.id, after)
      expect(opened.map(({ data }) => data)).to.deep.equal(original.map(({ data }) => data))
      expect(JSON.stringify(after)).to.not.include('Cliente 1')
      const { revision, hash } = await headOf(company.id)
      expect({ revision, hash }).to.deep.equal({ revision: original.at(-1)?.revision, hash: after.at(-1)?.hash })
      expect((await verifyLedger({ pool, store: since() }, company.id)).valid).to.equal(true)
      const kept = await pool.query('select envelope from ledger_former.events where stream = $1 order by revision', [
        streamOf(company.id),
      ])
      expect(kept.rows.map(({ envelope }) => envelope)).to.deep.equal(original)
      expect(await reseal(), 'again').to.deep.equal({ streams: 0, events: 0, known: 0, mappings: [] })
    })

    it('have a signed mapping, by which old heads bind the new ledger; a forged one is none [PRIV-54]', async () => {
      const path = mappingFileOf(directory, company.id)
      const old = { revision: 7, hash: original[7]?.hash ?? '' }
      const foreign = { revision: 8, hash: 'f'.repeat(64) }
      const mapping = await readMapping(path, [key.publicKey], [old, foreign])
      const head = await headOf(company.id)
      expect(mapping).to.deep.include({ company_id: company.id, revision: head.revision, new_hash: head.hash })
      expect(mapping).to.include({ old_hash: original.at(-1)?.hash, resealed_at: now() })
      expect(mapping.known).to.deep.equal([old])
      const text = await readFile(path, 'utf8')
      const forged = join(directory, 'forged.jsonl')
      const attempts = [
        text.replace(old.hash, 'a'.repeat(64)),
        text.replace(head.hash, 'b'.repeat(64)),
        text.slice(65),
        text.split('\n').slice(0, -2).join('\n'),
        `${text}${'c'.repeat(64)}\n`,
      ]
      for (const attempt of attempts) {
        await writeFile(forged, attempt)
        expect(await readMapping(forged, null, []).catch((error) => error)).to.be.instanceOf(NoMapping)
      }
      const stranger = await makeSigningKey(join(directory, 'stranger.pem'))
      expect(await readMapping(path, [stranger.publicKey], []).catch((error) => error)).to.be.instanceOf(NoMapping)
    })

    it('go on to be sealed as another log, through the mapping [PROOF-26]', async () => {
      const sealing = {
        pool,
        store: since(),
        directory,
        keyFile: join(directory, 'key.pem'),
        now,
        assertMaySeal: async () => {},
      }
      const mapping = mappingFileOf(directory, company.id)
      const signed = await readFile(mapping, 'utf8')
      for (const wrong of [signed.replace(/^[0-9a-f]/, (digit) => (digit === '0' ? '1' : '0')), null]) {
        if (wrong === null) await rm(mapping)
        else await writeFile(mapping, wrong)
        expect(await makeCheckpoint(sealing, company.id).catch((error) => error)).to.be.instanceOf(SealAltered)
      }
      await writeFile(mapping, signed)
      const made = await makeCheckpoint(sealing, company.id)
      expect(made).to.include({ size: original.length })
      expect(made?.origin).to.match(new RegExp(`/company-${company.id}/2$`))
    })

    it('take what is written afterwards; a service that is led to others is refused [PRIV-57]', async () => {
      if (target) {
        const refused = await startApi(database.url).catch((error: Error) => error)
        expect(refused).to.be.instanceOf(OtherVersion)
      }
      const api = await startApi(database.url, target ? { store: target } : {})
      const reply = await fetch(`${api.url}/api/v1/customers`, {
        method: 'POST',
        headers: { authorization: `Bearer ${company.key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ name: 'Mais tarde' }),
      })
      expect(reply.status).to.equal(201)
      expect((await api.core.verifier.verify(company.id, null)).verification.valid).to.equal(true)
      await api.close()
    })
  })
}
