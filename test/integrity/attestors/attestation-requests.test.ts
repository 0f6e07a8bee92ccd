import { generateKeyPairSync } from 'node:crypto'
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import type { Pool } from 'pg'
import { readConfig, WrongSetting } from '#config/config.ts'
import { openWitness, serveWitness, type Witness } from '#demo/demo-attestors.ts'
import type { Served } from '#demo/serve-locally.ts'
import {
  type AttestationRequests,
  attestationStatuses,
  loadTokens,
  requestAttestations,
  tokenDirectory,
} from '#integrity/attestations.ts'
import { type AttestorSettings, attestorNames, createAttestors } from '#integrity/attestor-settings.ts'
import {
  type Attestor,
  AttestorFailed,
  createCopyTarget,
  createFolderTarget,
  nameOfCopy,
} from '#integrity/attestors.ts'
import { openKeyRing } from '#integrity/checkpoint-keys.ts'
import type { SignedCheckpoint } from '#integrity/checkpoint-log.ts'
import { runCheckpointRound } from '#integrity/checkpoint-schedule.ts'
import type { Sealing } from '#integrity/checkpoints.ts'
import { newestInstallationCheckpoint, proveLogInclusion } from '#integrity/installation-log.ts'
import { formatCheckpoint, formatVkey, openNote, parseProof, signNote, verifierKey } from '#integrity/note.ts'
import { createProofServices } from '#integrity/sale-receipts.ts'
import { createPostgresStore } from '#ledger/stores/postgres-store.ts'
import { createPool } from '#postgres/pool.ts'
import { createMetrics } from '#service/metrics.ts'
import { startAttestors } from '#service/process-roles.ts'
import { useDatabase } from '../../support/database.ts'
import { tamperBy } from '../../support/tamper.ts'
import { until } from '../../support/wait.ts'
import { writeLedger } from '../audit/tampering.ts'
import { createLog, never, useOutside } from './log.ts'

const NOW = '2026-11-22T20:00:00.000Z'

/** In-memory attestor with an answer set by the test. */
function createFake(source: string, kind: Attestor['kind'] = 'time_stamp') {
  const asked: number[] = []
  const fake = {
    source,
    host: null,
    kind,
    takesEach: kind === 'copy',
    asked,
    answer: async (_signal: AbortSignal): Promise<Buffer> => Buffer.from('token'),
    ask: async ({ size }: { size: number }, { signal }: { signal: AbortSignal }) => {
      asked.push(size)
      return fake.answer(signal)
    },
  }
  return fake
}

describe('attestation requests', () => {
  const database = useDatabase()
  let pool: Pool
  let root: string
  let sealing: Sealing
  let witness: Witness
  let running: Served
  let asking: AttestationRequests[] = []
  const errors: [string, string][] = []
  /** Company sealed last. */
  let companyId: number

  before(async () => {
    pool = createPool(database.url, { max: 8 })
    root = await mkdtemp(join(tmpdir(), 'tillbook-attestors-'))
    sealing = {
      pool,
      store: createPostgresStore(pool),
      directory: join(root, 'seals'),
      keyFile: join(root, 'seal-key.pem'),
      now: () => NOW,
      assertMaySeal: async () => {},
    }
    const { installationId, current } = await openKeyRing(sealing)
    witness = await openWitness({
      file: join(root, 'witness.json'),
      name: 'witness.example/w1',
      logs: [verifierKey(`tillbook/${installationId}`, current.publicKey)],
      now: () => new Date(NOW),
    })
    running = await serveWitness(witness, 0)
  })
  after(async () => {
    await running.close()
    await pool.end()
    await rm(root, { recursive: true })
  })
  afterEach(async () => {
    await Promise.all(asking.map((each) => each.stop()))
    asking = []
    errors.length = 0
    await tamperBy(pool, 'delete from ops.checkpoint_tokens; delete from ops.attestors')
  })

  /** Seals another company, which adds an entry and a checkpoint to the installation log. */
  async function seal(): Promise<SignedCheckpoint> {
    companyId = await writeLedger(pool, 2)
    const options = { onSealed: () => {} }
    const made = await runCheckpointRound(sealing, {
      ...options,
      onError: (error) => {
        throw error
      },
    })
    for (const each of asking) each.now()
    return made as SignedCheckpoint
  }

  const settings = (given: Partial<AttestorSettings> = {}): AttestorSettings => ({
    WITNESS_URLS: [{ url: running.url, vkey: formatVkey(witness.key) }],
    SEAL_TSA_URL: undefined,
    SEAL_TSA_CA_FILE: undefined,
    SEAL_PUSH_URL: undefined,
    SEAL_PUSH_TOKEN: undefined,
    SEAL_PUSH_FOLDER: join(root, 'copies'),
    ...given,
  })
  const configured = () => createAttestors(settings(), { pool, newNonce: () => Buffer.alloc(16, 1) })

  function start(attestors: readonly Attestor[], of = sealing): AttestationRequests {
    const started = requestAttestations(of, attestors, {
      onToken: () => {},
      onError: ({ source }, error) => errors.push([source, (error as Error).message]),
      every_ms: 60_000,
    })
    asking.push(started)
    return started
  }

  const has = (size: number, count: number) =>
    until(async () => (await loadTokens(pool, size)).length === count, { what: `${count} tokens of ${size}` })
  const again = async () => {
    await pool.query('update ops.attestors set due_at = clock_timestamp()')
    for (const each of asking) each.now()
  }

  it('store attestations beside the checkpoints, in database and files, with one request for all processes', async () => {
    const authority = createFake('https://tsa.example')
    const checkpoint = await seal()
    for (let process = 0; process < 3; process += 1) start([...configured(), authority])
    await has(checkpoint.size, 3)
    const later = await seal()
    await has(later.size, 3)
    expect(authority.asked).to.deep.equal([checkpoint.size, later.size])
    expect(errors).to.deep.equal([])
    const tokens = await loadTokens(pool, later.size)
    expect(tokens.map(({ kind }) => kind)).to.have.members(['cosignature', 'time_stamp', 'copy'])
    const files = await readdir(tokenDirectory(sealing.directory))
    const size = String(later.size).padStart(16, '0')
    const names = [`${size}-witness.example_w1.cosigned`, `${size}-https_tsa.example.tsr`, `${size}.text`]
    expect(files).to.include.members(names)
    const [note, stamp, text] = await Promise.all(
      names.map((name) => readFile(join(tokenDirectory(sealing.directory), name), 'utf8')),
    )
    expect(openNote(note ?? '', [witness.key])?.text).to.equal(text)
    expect([stamp, text]).to.deep.equal(['token', formatCheckpoint(later)])
    expect(await readFile(join(root, 'copies', nameOfCopy(later)), 'utf8')).to.equal(later.note)
    // The inclusion proof of a company contains the cosignatures of the log.
    const { proof } = (await proveLogInclusion(pool, companyId)) ?? { proof: '' }
    expect(openNote(parseProof(proof)?.checkpoint ?? '', [witness.key])?.signedBy).to.have.length(1)
    await tamperBy(pool, `update ops.checkpoint_tokens set token = 'no line' where kind = 'cosignature'`)
    expect(parseProof((await proveLogInclusion(pool, companyId))?.proof ?? '')?.checkpoint).to.equal(later.note)
  })

  it('goes on with other attestors while one is down, and catches up [PROOF-67]', async () => {
    const [away, place] = [createFake('https://tsa.example'), createFake('/far', 'copy')]
    const failing = async () => {
      throw new AttestorFailed('unreachable', 'no answer: it is away')
    }
    Object.assign(away, { answer: failing })
    Object.assign(place, { answer: failing })
    const attestors = [away, place, ...configured()]
    const first = await seal()
    start(attestors)
    await has(first.size, 2)
    await until(() => errors.length === 2)
    const made = [await seal(), await seal()]
    await has((made[1] as SignedCheckpoint).size, 2)
    const before = (
      await attestationStatuses(
        pool,
        attestors.map((attestor) => ({ host: null, ...attestor })),
      )
    ).map(({ age, waiting_seconds, tried_at, obtained_at, host, failing_since, ...rest }) => ({
      ...rest,
      isFailing: failing_since !== null,
    }))
    const { size } = made[1] as SignedCheckpoint
    const problem = { problem: 'unreachable', detail: 'no answer: it is away', failures: 1, isFailing: true }
    const none = { problem: null, detail: null, failures: 0, waiting: 0, size, isFailing: false }
    expect(before).to.deep.equal([
      { source: away.source, kind: 'time_stamp', size: null, waiting: size, ...problem },
      { source: place.source, kind: 'copy', size: null, waiting: size, ...problem },
      { source: 'witness.example/w1', kind: 'cosignature', ...none },
      { source: join(root, 'copies'), kind: 'copy', ...none },
    ])
    expect(away.asked, 'not again at once').to.have.length(1)
    const { rows } = await pool.query(
      `select round(extract(epoch from due_at - tried_at) / 30) * 30 as wait from ops.attestors where failures > 0`,
    )
    expect(rows.map(({ wait }) => Number(wait))).to.deep.equal([60, 60])
    for (const each of [away, place]) Object.assign(each, { answer: async () => Buffer.from('token') })
    away.asked.length = 0
    place.asked.length = 0
    await again()
    await has(size, 4)
    expect(away.asked, 'the newest covers those before').to.deep.equal([size])
    expect(place.asked, 'each has its copy').to.deep.equal(Array.from({ length: size }, (_, n) => n + 1))
    const states = await attestationStatuses(
      pool,
      attestors.map((attestor) => ({ host: null, ...attestor })),
    )
    expect(
      states.every(({ waiting, failures, problem }) => waiting === 0 && failures === 0 && problem === null),
    ).to.equal(true)
  })

  it('sends a witness proofs since its last checkpoint, even beside a changed tree [PROOF-61, PROOF-67]', async () => {
    const [one] = configured()
    const first = await seal()
    start([one as Attestor])
    await has(first.size, 1)
    await pool.query(`update ops.tree_tiles set hashes = substr(hashes, 33) || substr(hashes, 1, 32) where log = 0`)
    const { size } = await seal()
    await has(size, 1)
  })

  it('request no attestation for checkpoints without our signature [PROOF-67]', async () => {
    const { size, origin, root } = await seal()
    const { privateKey } = generateKeyPairSync('ed25519')
    const forged = signNote(formatCheckpoint({ origin, size: size + 1, root }), [{ name: origin, privateKey }])
    await pool.query('insert into ops.installation_checkpoints (size, root, note, made_at) values ($1, $2, $3, $4)', [
      size + 1,
      root,
      forged,
      NOW,
    ])
    const fake = createFake('https://tsa.example')
    start([fake])
    await until(() => errors.length === 1)
    expect(errors[0]?.[1]).to.match(/is not one that a known key has signed$/)
    expect(fake.asked).to.deep.equal([])
    const [state] = await attestationStatuses(pool, [fake])
    expect(state).to.include({ problem: 'failed', failures: 1 })
    await tamperBy(pool, 'delete from ops.installation_checkpoints where size = $1', [size + 1])
  })

  it('are not sent while sealing is blocked, and are aborted on stop [PROOF-67]', async () => {
    const fake = createFake('https://tsa.example')
    const checkpoint = await newestInstallationCheckpoint(pool)
    expect(checkpoint).not.to.equal(null)
    start([fake], { ...sealing, assertMaySeal: () => Promise.reject(new Error('this is a restored database')) })
    await until(() => errors.length === 1)
    expect(fake.asked).to.deep.equal([])
    fake.answer = (signal) =>
      new Promise((_, reject) =>
        signal.addEventListener('abort', () => reject(new AttestorFailed('unreachable', 'aborted'))),
      )
    const started = start([fake])
    await until(() => fake.asked.length === 1)
    await started.stop()
    const [state] = await attestationStatuses(pool, [fake])
    expect(state).to.include({ failures: 0, problem: null })
    // The next request does not wait for the aborted one.
    fake.answer = async () => Buffer.from('token')
    start([fake])
    await has(checkpoint?.size ?? 0, 1)
  })

  it('run in a projector with metrics per attestor, and not at all if none is configured', async () => {
    const { size } = await seal()
    const lines: unknown[] = []
    const logger = { info: (fields: object) => lines.push(fields) }
    const startWith = (WITNESS_URLS: AttestorSettings['WITNESS_URLS']) => {
      const config = { ...readConfig({}), ...settings({ WITNESS_URLS, SEAL_PUSH_FOLDER: undefined }) }
      const core = { pool, sealing, proof: createProofServices(pool, { sealing, attestors: attestorNames(config) }) }
      const metrics = createMetrics()
      const log = (_message: string, error: unknown) => errors.push(['', String(error)])
      asking.push(
        startAttestors({ config, core, metrics, logger, log } as unknown as Parameters<typeof startAttestors>[0]),
      )
      return metrics
    }
    expect(await startWith(undefined).read()).not.to.include('tillbook_attestor')
    const metrics = startWith(settings().WITNESS_URLS)
    await has(size, 1)
    await until(() => lines.length === 1)
    expect(lines).to.deep.equal([{ source: 'witness.example/w1', kind: 'cosignature', size }])
    const figures = [
      ...(await metrics.read()).matchAll(/^(tillbook_attestor_\w+)\{attestor="witness.example\/w1"\} (\S+)$/gm),
    ]
    expect(figures.map(([, name]) => name)).to.deep.equal([
      'tillbook_attestor_token_age_seconds',
      'tillbook_attestor_waiting_seconds',
      'tillbook_attestor_failures',
    ])
    const guide = await readFile('docs/operations/metrics.md', 'utf8')
    for (const [, name] of figures) expect(guide).to.include(`\`${name}\``)
    expect(Number(figures[0]?.[2])).to.be.within(0, 30)
    expect(figures.slice(1).map(([, , value]) => value)).to.deep.equal(['0', '0'])
    expect(errors).to.deep.equal([])
  })

  it('are configured by settings with clear error messages [PROOF-69]', () => {
    const vkey = formatVkey(witness.key)
    const read = (WITNESS_URLS: string) => readConfig({ WITNESS_URLS }).WITNESS_URLS
    expect(read(`https://w.example/a/ ${vkey}, http://127.0.0.1:8 ${vkey}`)).to.deep.equal([
      { url: 'https://w.example/a', vkey },
      { url: 'http://127.0.0.1:8', vkey },
    ])
    const wrong = [
      'https://w.example',
      vkey,
      `${vkey} https://w.example`,
      `ftp://w.example ${vkey}`,
      `https://user:secret@w.example ${vkey}`,
      `https://w.example?key=1 ${vkey}`,
      `https://w.example ${vkey}x`,
      Array(17).fill(`https://w.example ${vkey}`).join(),
    ]
    for (const text of wrong) expect(() => read(text), text).to.throw(WrongSetting, /^WITNESS_URLS should be 1 to 16/)
    expect(() => readConfig({ SEAL_PUSH_TOKEN: 'secret' })).to.throw(
      WrongSetting,
      'SEAL_PUSH_TOKEN requires SEAL_PUSH_URL',
    )
    expect(() => readConfig({ SEAL_TSA_CA_FILE: 'ca.pem' })).to.throw(
      WrongSetting,
      'SEAL_TSA_CA_FILE requires SEAL_TSA_URL',
    )
    const create = (given: Partial<AttestorSettings>) =>
      createAttestors(settings(given), { pool, newNonce: () => Buffer.alloc(1) })
    const other = vkey.replace(/\+([0-9a-f]{8})\+/, '+00000000+')
    expect(() => create({ WITNESS_URLS: [{ url: running.url, vkey: other }] })).to.throw(WrongSetting, /WITNESS_URLS/)
    const tsa = { SEAL_TSA_URL: 'https://tsa.example', SEAL_TSA_CA_FILE: join(root, 'none.pem') }
    expect(() => create(tsa)).to.throw(WrongSetting, /^SEAL_TSA_CA_FILE should be a readable file/)
    const all = {
      SEAL_TSA_URL: 'https://tsa.example',
      SEAL_PUSH_URL: 'https://keep.example',
      SEAL_PUSH_TOKEN: 'secret',
    }
    expect(create(all).map(({ source, kind }) => `${kind} ${source}`)).to.deep.equal([
      'cosignature witness.example/w1',
      'time_stamp https://tsa.example',
      'copy https://keep.example',
      `copy ${join(root, 'copies')}`,
    ])
  })
})

const put = (attestor: Attestor, checkpoint = createLog().checkpoint(3)) =>
  attestor.ask(checkpoint, { last: 0, signal: never }).then(String, (error: Error) => error.message)

describe('copies of checkpoints', () => {
  const log = createLog()
  let outside: Awaited<ReturnType<typeof useOutside>>
  let folder: string
  before(async () => {
    outside = await useOutside()
    folder = await mkdtemp(join(tmpdir(), 'tillbook-copies-'))
  })
  after(async () => {
    outside.close()
    await rm(folder, { recursive: true })
  })

  it('have names in the order of sizes, and other names for another history [PROOF-65]', () => {
    const name = nameOfCopy(log.checkpoint(3))
    expect(name).to.match(/^tillbook-0197f1d4-0000-7000-8000-000000000001-0000000000000003-[0-9a-f]{16}\.checkpoint$/)
    expect(nameOfCopy(log.checkpoint(12)) > name).to.equal(true)
    expect(nameOfCopy(createLog(undefined, 'forged ').checkpoint(3))).not.to.equal(name)
  })

  it('are uploaded without overwriting, with the token of the destination [PROOF-65]', async () => {
    const seen: unknown[] = []
    let status = 201
    outside.answers(({ method, url, headers }, body, response) => {
      const { authorization, 'if-none-match': condition } = headers
      seen.push({ method, url, authorization, condition, body: body.toString() })
      response.writeHead(status).end()
    })
    const checkpoint = log.checkpoint(3)
    const name = nameOfCopy(checkpoint)
    const place = createCopyTarget({ url: `${outside.url}/seals`, token: 'secret-of-the-place', timeout_ms: 1_000 })
    expect(await put(place, checkpoint)).to.equal(name)
    const call = { method: 'PUT', url: `/seals/${name}`, condition: '*', body: checkpoint.note }
    expect(seen).to.deep.equal([{ ...call, authorization: 'Bearer secret-of-the-place' }])
    status = 412
    expect(await put(place, checkpoint), 'it is there').to.equal(name)
    for (const refusing of [301, 401, 403, 405, 409, 507]) {
      status = refusing
      expect(await put(place, checkpoint)).to.equal(`answered ${refusing}`)
    }
    expect(place.source, 'without the secret').to.equal(`${outside.url}/seals`)
    status = 204
    expect(await put(createCopyTarget({ url: outside.url, token: undefined }), checkpoint)).to.equal(name)
    expect(seen.at(-1)).to.deep.equal({ ...call, url: `/${name}`, authorization: undefined })
  })

  it('are files that are created once and never rewritten [PROOF-65]', async () => {
    const path = join(folder, 'made', 'copies')
    const attestor = createFolderTarget(path)
    const checkpoint = log.checkpoint(3)
    const name = nameOfCopy(checkpoint)
    expect(await put(attestor, checkpoint)).to.equal(name)
    expect(await put(attestor, checkpoint), 'once more').to.equal(name)
    expect(await readFile(join(path, name), 'utf8')).to.equal(checkpoint.note)
    expect((await stat(join(path, name))).mode & 0o222, 'nobody writes it').to.equal(0)
    // Partial files of a crash and files of others stay unchanged.
    const next = log.checkpoint(4)
    await writeFile(join(path, nameOfCopy(next)), '')
    expect(await put(attestor, next)).to.equal(`${nameOfCopy(next)}.2`)
    expect(await put(attestor, next)).to.equal(`${nameOfCopy(next)}.2`)
    expect(await readdir(path)).to.have.members([name, nameOfCopy(next), `${nameOfCopy(next)}.2`])
    const last = log.checkpoint(5)
    for (const end of ['', '.2', '.3']) await writeFile(join(path, `${nameOfCopy(last)}${end}`), 'forged')
    expect(await put(attestor, last)).to.equal(`${nameOfCopy(last)} is there with other contents`)
  })

  it('wait for a missing folder [PROOF-65]', async () => {
    await writeFile(join(folder, 'file'), '')
    expect(await put(createFolderTarget(join(folder, 'file')))).to.match(/EEXIST|ENOTDIR/)
  })
})
