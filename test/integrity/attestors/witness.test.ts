import { execFileSync, spawnSync } from 'node:child_process'
import { createHash, createPrivateKey, generateKeyPairSync, randomBytes } from 'node:crypto'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import {
  type Authority,
  openAuthority,
  openWitness,
  serveAuthority,
  serveWitness,
  type Witness,
} from '#demo/demo-attestors.ts'
import type { Served } from '#demo/serve-locally.ts'
import { createTimeStampAuthority } from '#integrity/attestor-settings.ts'
import { AttestorFailed, createWitness, parseWitnesses } from '#integrity/attestors.ts'
import {
  COSIGNATURE,
  cosignatureLine,
  formatCheckpoint,
  openNote,
  parseVkey,
  type VerifierKey,
  verifierKey,
} from '#integrity/note.ts'
import { verifyStamp } from '#integrity/time-stamp-token.ts'
import { createLog, never, useOutside } from './log.ts'

const NOW = new Date('2026-11-22T20:00:00.000Z')

/** Requests and responses from the tests of litewitness (github.com/FiloSottile/torchwood), a third-party witness. */
const SIGSUM = 'sigsum.org/v1/tree/4d6d8825a6bb689d459628312889dfbb0bcd41b5211d9e1ce768b0ff0309e562'
const SIGSUM_KEY = verifierKey(
  SIGSUM,
  Buffer.from(
    '302a300506032b6570032100ffdc2d4d98e4124d3feaf788c0c2f9abfd796083d1f0495437f302ec79cf100f',
    'hex',
  ).toString('base64'),
)
const leaf = (n: 1 | 2 | 3 | 4) => `Kg${'AEIMQ'[n]}AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=`
const NOTES = {
  1: [
    'KgAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=',
    'UgIom7fPZTqpxWWhyjWduBvTvGVqsokMbqTArsQilegKoFBJQjUFAmQ0+YeSPM3wfUQMFSzVnnNuWRTYrajXpNUbIQY=',
  ],
  3: [
    'RcCI1Nk56ZcSmIEfIn0SleqtV7uvrlXNccFx595Iwl0=',
    'UgIom2VbtIcdFbwFAy1n7s6IkAxIY6J/GQOTuZF2ORV39d75cbAj2aQYwyJre36kezNobZs4SUUdrcawfAB8WVrx6go=',
  ],
  5: [
    'QrtXrQZCCvpIgsSmOsah7HdICzMLLyDfxToMql9WTjY=',
    'UgIomw/EOJmWi0i1FQsOj+etB7F8IccFam/jgd6wzRns4QPVmyEZtdvl1U2KEmLOZ/ASRcWJi0tW90dJWAShei7sDww=',
  ],
} as const
const sigsum = (size: keyof typeof NOTES, change = (note: string) => note) =>
  change(`${SIGSUM}\n${size}\n${NOTES[size][0]}\n\n— ${SIGSUM} ${NOTES[size][1]}\n`)
const TO_3 = [leaf(1), leaf(2)]
const FROM_1_TO_5 = [leaf(1), '+fUDV+k970B4I3uKrqJM4aP1lloPZP8mvr2Z4wRw2LI=', leaf(4)]
const FROM_3_TO_5 = [leaf(2), leaf(3), 'wgiIFdZfYNv6WU1OllBKsWnLYIS/DBMqt8Uh/S4OukE=', leaf(4)]
const ask = (old: number, proof: readonly string[], note: string) =>
  [`old ${old}`, ...proof].join('\n').concat('\n\n', note)

describe('witnesses', () => {
  let folder: string
  let outside: Awaited<ReturnType<typeof useOutside>>
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'tillbook-witness-'))
    outside = await useOutside()
  })
  after(async () => {
    outside.close()
    await rm(folder, { recursive: true })
  })

  let files = 0
  const open = (logs: readonly VerifierKey[], file = join(folder, `${++files}.json`)) =>
    openWitness({ file, name: 'witness.example/w1', logs, now: () => NOW })

  it('of third parties have cosigned checkpoints, and both forms of their keys are accepted [PROOF-60]', () => {
    // From the README of github.com/transparency-dev/witness; keys from github.com/transparency-dev/distributor.
    const note = `developers.google.com/android/binary_transparency/0
611
2GZ1zmS5VkfUZmn2ZyR4KZXwHLD+xnwBIWzql/cD50w=

— pixel_transparency_log csh42zBFAiAd3Y1FwqNTt5RglY0uG7heC6Yu1gEbXXPYmZ7LdOILMAIhAIt68PnR/3TADAaC7hvrSHbpziV7TmpIwOUydLmcjyTQ
— ArmoredWitness-small-breeze nRq5UQAAAABnoqrsRIofXn68vTohcAm2KG4ACGyRPNePUk02BSWD0WKV5ElejTk5Z+Tm3GmJ5j/etA+fkL9XuaQsnTyZbr437sF4AQ==
— ArmoredWitness-autumn-wood qZb5XQAAAABnoqrl57G9CblEl3lwwuqzbaJvVMqNiZCbYZseYT1YZHYmls3CmT1wxZ1fNgM4RxHuUxjAwcI2ghTx6R5aCg+L0DGPBA==
`
    const breeze = 'ArmoredWitness-small-breeze+7b3ada3a+AQAWYpUjfGGPQiWOgt6sLWap0P9rVOe+Ofu2uNZbO4FD'
    const wood = 'ArmoredWitness-autumn-wood+863571a5+AesIVCbad7gbU07JnA6YfZD0qg4B1c8xF4ISdnt9vjip'
    const witnesses = parseWitnesses([
      { url: 'https://a.example/breeze', vkey: breeze },
      { url: 'https://a.example/wood', vkey: wood },
    ])
    const keys = witnesses?.map(({ key }) => key) ?? []
    expect(openNote(note, keys)?.signedBy.map(({ key, seconds }) => [key.name, seconds])).to.deep.equal([
      ['ArmoredWitness-small-breeze', Date.UTC(2025, 1, 5, 0, 3, 56) / 1000],
      ['ArmoredWitness-autumn-wood', Date.UTC(2025, 1, 5, 0, 3, 49) / 1000],
    ])
    expect(openNote(note.replace('\n611\n', '\n612\n'), keys)).to.equal(null)
    const native = 'remora.n621.de+da77ade7+BOvN63jn/bLvkieywe8R6UYAtVtNbZpXh34x7onlmtw2'
    expect(parseWitnesses([{ url: 'https://a.example', vkey: native }])?.[0]?.key).to.deep.equal(parseVkey(native))
    const twice = { url: 'https://b.example', vkey: native }
    expect(parseWitnesses([twice, twice]), 'one key twice').to.equal(null)
    expect(parseWitnesses([{ url: 'https://a.example', vkey: native.replace('7+B', '8+B') }])).to.equal(null)
  })

  it('cosign extensions of the last seen checkpoint, like third-party witnesses [PROOF-61]', async () => {
    const file = join(folder, 'litewitness.json')
    let witness = await open([SIGSUM_KEY], file)
    const asks = async (body: string) => (await witness.addCheckpoint(body)).status
    expect(await asks(ask(0, [], sigsum(1)))).to.equal(200)
    expect(
      await asks(
        ask(
          1,
          TO_3,
          sigsum(3, (note) => note.replace('6go=', '6gx=')),
        ),
      ),
    ).to.equal(403)
    expect(
      await asks(
        ask(
          1,
          TO_3,
          sigsum(3, (note) => note.replaceAll('e562', 'e563')),
        ),
      ),
    ).to.equal(404)
    expect(await asks(ask(1, [], sigsum(3)))).to.equal(422)
    expect(await asks(ask(1, [leaf(1), leaf(3)], sigsum(3)))).to.equal(422)
    expect(await asks(ask(1, TO_3, sigsum(3)))).to.equal(200)
    const conflict = await witness.addCheckpoint(ask(1, FROM_1_TO_5, sigsum(5)))
    expect(conflict).to.deep.equal({ status: 409, type: 'text/x.tlog.size', body: '3\n' })
    // Its last checkpoints are on disk.
    witness = await open([SIGSUM_KEY], file)
    expect(await asks(ask(3, FROM_3_TO_5, sigsum(5)))).to.equal(200)
    expect((await witness.addCheckpoint(ask(0, [], sigsum(5)))).body).to.equal('5\n')
    expect(await asks(ask(5, [], sigsum(5))), 'once more').to.equal(200)
    expect(await asks(ask(5, [], sigsum(3))), 'shorter than it was').to.equal(400)
    for (const body of [
      '',
      'old 5\n',
      `old 05\n\n${sigsum(5)}`,
      `new 5\n\n${sigsum(5)}`,
      ask(5, Array(64).fill(leaf(1)), sigsum(5)),
    ])
      expect(await asks(body), body.slice(0, 20)).to.equal(400)
  })

  it('never cosign two histories of one log, also under concurrent requests [PROOF-61]', async () => {
    const [one, other] = [createLog(), createLog(undefined, 'forged ')]
    const witness = await open([one.key, other.key])
    const bodies = [one, other].map((log) => ask(0, [], log.checkpoint(5).note))
    const answers = await Promise.all(bodies.map(witness.addCheckpoint))
    expect(answers.map(({ status }) => status)).to.deep.equal([200, 409])
    const proof = (await other.consistencyProof(5, 6)).map((hash) => hash.toString('base64'))
    expect((await witness.addCheckpoint(ask(5, proof, other.checkpoint(6).note))).status).to.equal(422)
  })

  describe('as remote services', () => {
    const log = createLog()
    let witness: Witness
    let running: Served
    before(async () => {
      witness = await open([log.key])
      running = await serveWitness(witness, 0)
    })
    after(() => running.close())

    const attestor = (of = log, url = running.url, key = witness.key, timeout_ms = 5_000) =>
      createWitness({ url, key, consistencyProof: of.consistencyProof, timeout_ms })
    const failure = (asked: Promise<Buffer>) =>
      asked.then(
        () => 'no failure',
        (error: unknown) => (error instanceof AttestorFailed ? `${error.problem}: ${error.message}` : String(error)),
      )

    it('return a cosignature that makes a note with two signatures [PROOF-60]', async () => {
      const checkpoint = log.checkpoint(7)
      const line = await attestor().ask(checkpoint, { last: 0, signal: never })
      const opened = openNote(checkpoint.note + line, [log.key, witness.key])
      expect(opened?.text).to.equal(formatCheckpoint(checkpoint))
      expect(opened?.signedBy).to.deep.equal([
        { key: log.key, seconds: null },
        { key: witness.key, seconds: NOW.getTime() / 1000 },
      ])
      const hash = createHash('sha256').update(checkpoint.origin).digest('hex')
      const shown = await fetch(`${running.url}/${hash}/checkpoint`)
      expect(await shown.text()).to.equal(checkpoint.note + line)
      expect((await fetch(`${running.url}/${hash.replace(/^./, 'x')}/checkpoint`)).status).to.equal(404)
    })

    it('report the last seen checkpoint, and accept updates from there [PROOF-61]', async () => {
      for (const [size, last] of [
        [9, 7],
        [12, 0],
        [13, 3],
        [13, 13],
        [20, 99],
      ] as const) {
        const checkpoint = log.checkpoint(size)
        const line = await attestor().ask(checkpoint, { last, signal: never })
        expect(openNote(checkpoint.note + line, [witness.key]), `${last} to ${size}`).not.to.equal(null)
      }
      const behind = await failure(attestor().ask(log.checkpoint(19), { last: 13, signal: never }))
      expect(behind).to.equal('inconsistent: it has seen this log with 20 entries, beyond the 19 here')
    })

    it('do not cosign a rewritten log, an unknown log or an unsigned checkpoint [PROOF-61]', async () => {
      const forged = createLog(undefined, 'forged ')
      const knowsBoth = await serveWitness(await open([log.key, forged.key]), 0)
      await attestor(log, knowsBoth.url)
        .ask(log.checkpoint(4), { last: 0, signal: never })
        .catch(() => {})
      const other = await failure(attestor(forged, knowsBoth.url).ask(forged.checkpoint(9), { last: 4, signal: never }))
      await knowsBoth.close()
      expect(other).to.match(/^inconsistent: answered 422/)
      const unsigned = { ...log.checkpoint(21), note: forged.checkpoint(21).note }
      expect(await failure(attestor().ask(unsigned, { last: 20, signal: never }))).to.match(/^refused: answered 403/)
      const unknown = createLog('tillbook/another')
      expect(await failure(attestor(unknown).ask(unknown.checkpoint(1), { last: 0, signal: never }))).to.match(
        /^refused: answered 404/,
      )
    })

    it('are not trusted blindly, time out, and cannot redirect [PROOF-62]', async () => {
      const checkpoint = log.checkpoint(3)
      const { privateKey } = generateKeyPairSync('ed25519')
      const own = JSON.parse(await readFile(join(folder, `${files - 1}.json`), 'utf8')) as { private_key: string }
      const signer = {
        name: witness.key.name,
        privateKey: createPrivateKey(own.private_key),
      }
      const cases: [string, number, string, RegExp][] = [
        [
          'another key',
          200,
          cosignatureLine(formatCheckpoint(checkpoint), { ...signer, privateKey }, 1),
          /^wrong_answer: it gave no cosignature/,
        ],
        [
          'another text',
          200,
          cosignatureLine(formatCheckpoint(log.checkpoint(2)), signer, 1),
          /^wrong_answer: its cosignature is not/,
        ],
        [
          'without a time',
          200,
          cosignatureLine(formatCheckpoint(checkpoint), signer, 0),
          /^wrong_answer: its cosignature is not/,
        ],
        ['nothing', 200, '', /^wrong_answer/],
        ['no size', 409, 'many\n', /^wrong_answer: answered 409 without a size/],
        ['a size each time', 409, '1\n', /^unreachable: another size/],
        ['no end', 200, 'x'.repeat(100_000), /^wrong_answer: the answer has more than/],
        ['elsewhere', 307, '', /^refused: answered 307$/],
        ['too many', 429, '', /^unreachable: answered 429$/],
        ['broken', 503, '<html>\u0007\n', /^unreachable: answered 503: <html>$/],
      ]
      const fake = attestor(log, outside.url, witness.key, 200)
      for (const [name, status, body, expected] of cases) {
        outside.answers((_request, _body, response) => response.writeHead(status, { location: running.url }).end(body))
        expect(await failure(fake.ask(checkpoint, { last: 0, signal: never })), name).to.match(expected)
      }
      outside.answers(() => {})
      expect(await failure(fake.ask(checkpoint, { last: 0, signal: never })), 'silent').to.match(
        /^unreachable: no answer/,
      )
      expect(await failure(fake.ask(checkpoint, { last: 0, signal: AbortSignal.abort() })), 'stopped').to.match(
        /^unreachable/,
      )
      const none = attestor(log, 'http://127.0.0.1:1')
      expect(await failure(none.ask(checkpoint, { last: 0, signal: never })), 'away').to.match(
        /^unreachable: no answer/,
      )
      outside.answers((_request, _body, response) => {
        const lines = cosignatureLine(formatCheckpoint(checkpoint), { ...signer, privateKey }, 1)
        response.end(`${lines}what is this\n${cosignatureLine(formatCheckpoint(checkpoint), signer, 1_800_000_000)}`)
      })
      const line = await fake.ask(checkpoint, { last: 0, signal: never })
      expect(openNote(checkpoint.note + line, [witness.key])?.signedBy).to.have.length(1)
    })
  })

  it('keep their key, and refuse a file with other contents [PROOF-61]', async () => {
    const file = join(folder, 'key.json')
    expect((await open([], file)).key).to.deep.equal((await open([], file)).key)
    expect((await open([], file)).key.type).to.equal(COSIGNATURE)
    await writeFile(file, '{}')
    expect(await open([], file).catch((error: Error) => error.name)).to.equal('ZodError')
  })
})

/** Number of changed bytes, spread over the stamp, one at a time. */
const BYTES = 12
const opensslIsThere = spawnSync('openssl', ['version']).status === 0

describe('time stamps', () => {
  let folder: string
  let outside: Awaited<ReturnType<typeof useOutside>>
  const authorities: Record<string, { authority: Authority; running: Served; trusted: string }> = {}
  const checkpoint = createLog().checkpoint(5)
  const text = formatCheckpoint(checkpoint)

  before(async function () {
    if (!opensslIsThere) {
      console.log('      time stamps are not tested: there is no openssl')
      this.skip()
    }
    folder = await mkdtemp(join(tmpdir(), 'tillbook-stamps-'))
    outside = await useOutside()
    for (const keys of ['ec', 'rsa'] as const) {
      const authority = await openAuthority({ folder: join(folder, keys), keys })
      const running = await serveAuthority(authority, 0)
      authorities[keys] = { authority, running, trusted: await readFile(authority.caFile, 'utf8') }
    }
  })
  after(async () => {
    outside?.close()
    await Promise.all(Object.values(authorities).map(({ running }) => running.close()))
    if (folder) await rm(folder, { recursive: true })
  })

  const of = (keys: 'ec' | 'rsa') => authorities[keys] as (typeof authorities)[string]
  const client = (url: string, trusted: string | null = null) =>
    createTimeStampAuthority({ url, trusted, newNonce: () => randomBytes(16), timeout_ms: 5_000 })
  const failure = (asked: Promise<unknown>) =>
    asked.then(
      () => 'no failure',
      (error: unknown) => (error instanceof AttestorFailed ? `${error.problem}: ${error.message}` : String(error)),
    )

  for (const keys of ['ec', 'rsa'] as const)
    it(`of OpenSSL are accepted, and OpenSSL verifies them (${keys}) [PROOF-63]`, async () => {
      const { running, authority, trusted } = of(keys)
      const stamp = await client(running.url, trusted).ask(checkpoint, { last: 0, signal: never })
      const files = { stamp: join(folder, 'a.tsr'), text: join(folder, 'a.txt'), other: join(folder, 'b.txt') }
      await Promise.all([
        writeFile(files.stamp, stamp),
        writeFile(files.text, text),
        writeFile(files.other, `${text}x`),
      ])
      const args = ['ts', '-verify', '-in', files.stamp, '-CAfile', authority.caFile, '-data']
      const said = execFileSync('openssl', [...args, files.text], { stdio: 'pipe' }).toString()
      expect(said).to.include('Verification: OK')
      expect(spawnSync('openssl', [...args, files.other]).status, 'another text').not.to.equal(0)
      const { at } = await verifyStamp(stamp, { text, nonce: null, trusted })
      expect(Math.abs(Date.parse(at) - Date.now())).to.be.below(60_000)
    })

  it('are requested with a nonce, the certificate and the SHA-256 of the text [PROOF-63]', async () => {
    const query = join(folder, 'q.tsq')
    let asked: Buffer = Buffer.alloc(0)
    outside.answers((_request, body, response) => {
      asked = body
      response.writeHead(500).end()
    })
    const nonce = Buffer.from('00c1ff00112233445566778899aabbcc', 'hex')
    const asking = createTimeStampAuthority({ url: outside.url, trusted: null, newNonce: () => nonce })
    expect(await failure(asking.ask(checkpoint, { last: 0, signal: never }))).to.match(/^unreachable: answered 500/)
    await writeFile(query, asked)
    const said = execFileSync('openssl', ['ts', '-query', '-in', query, '-text'], { stdio: 'pipe' }).toString()
    expect(said).to.match(/Hash Algorithm: sha256/)
    expect(said).to.match(/Nonce: 0xC1FF00112233445566778899AABBCC/)
    expect(said).to.match(/Certificate required: yes/)
    const bytes = [...said.matchAll(/^ {4}[0-9a-f]{4} - ((?:[0-9a-f]{2}[ -])+)/gm)].map(([, hex = '']) => hex)
    expect(bytes.join('').replace(/[^0-9a-f]/g, '')).to.equal(createHash('sha256').update(text).digest('hex'))
  })

  it('are refused if they cover other data or come from another authority [PROOF-64]', async () => {
    const { running, trusted } = of('rsa')
    const stamp = await client(running.url, trusted).ask(checkpoint, { last: 0, signal: never })
    const verified = (changes: Partial<Parameters<typeof verifyStamp>[1]> & { der?: Buffer }) =>
      failure(verifyStamp(changes.der ?? stamp, { text, nonce: null, trusted, ...changes }))
    expect(await verified({})).to.equal('no failure')
    expect(await verified({ trusted: null })).to.equal('no failure')
    expect(await verified({ text: `${text}x` })).to.equal('wrong_answer: the stamp is of something else')
    expect(await verified({ nonce: randomBytes(16) })).to.equal('wrong_answer: the stamp answers another request')
    expect(await verified({ trusted: of('ec').trusted })).to.match(/^wrong_answer: .*certificate/)
    // Bytes without meaning may change, such as those of the authority's own certificate: OpenSSL then accepts the
    // stamp too.
    await writeFile(join(folder, 'text'), text)
    for (let n = 0; n < BYTES; n += 1) {
      const der = Buffer.from(stamp)
      const at = Math.floor((n * der.length) / BYTES)
      der[at] = (der[at] ?? 0) ^ 1
      const found = await verified({ der })
      if (found !== 'no failure') {
        expect(found, `byte ${at}`).to.match(/^(wrong_answer|refused): /)
        continue
      }
      await writeFile(join(folder, 'changed.tsr'), der)
      const args = ['ts', '-verify', '-in', join(folder, 'changed.tsr'), '-data', join(folder, 'text')]
      const { status, stderr } = spawnSync('openssl', [...args, '-CAfile', of('rsa').authority.caFile])
      expect(status, `byte ${at}: ${stderr}`).to.equal(0)
    }
    for (const der of [
      Buffer.alloc(0),
      Buffer.from('<html>'),
      stamp.subarray(0, 300),
      Buffer.from('3003020102', 'hex'),
    ])
      expect(await verified({ der }), der.toString('hex', 0, 8)).to.match(/^(wrong_answer|refused)/)
  })

  it('with a certificate for another purpose, or a substituted one, are refused [PROOF-64]', async () => {
    const { authority } = of('ec')
    const own = join(folder, 'ec')
    const openssl = (...args: string[]) => execFileSync('openssl', args, { cwd: own, stdio: 'pipe' })
    const query = openssl('ts', '-query', '-data', 'openssl.cnf', '-sha256', '-cert')
    const refused = await authority.reply(Buffer.from('3003020102', 'hex'))
    expect(await failure(verifyStamp(refused, { text, nonce: null, trusted: null }))).to.match(
      /^refused: no stamp was granted \(status 2\)/,
    )
    const stamp = await authority.reply(query)
    const config = await readFile(join(own, 'openssl.cnf'), 'utf8')
    expect(await failure(verifyStamp(stamp, { text: config, nonce: null, trusted: null }))).to.equal('no failure')
    // Another certificate with the same key and name: its hash differs from the signed one.
    openssl(
      'req',
      '-x509',
      '-config',
      'openssl.cnf',
      '-key',
      'authority.key',
      '-subj',
      '/CN=other',
      '-extensions',
      'ca',
      '-days',
      '9',
      '-out',
      'other.pem',
    )
    const pem = await readFile(join(own, 'authority.pem'), 'utf8')
    const der = (text: string) => Buffer.from(text.replace(/-----[A-Z ]+-----|\s/g, ''), 'base64')
    const at = stamp.indexOf(der(pem))
    expect(at).to.be.above(0)
    const swapped = Buffer.from(stamp)
    swapped[at + der(pem).length - 1] = (swapped[at + der(pem).length - 1] ?? 0) ^ 1
    expect(await failure(verifyStamp(swapped, { text: config, nonce: null, trusted: null }))).to.equal(
      'wrong_answer: the certificate that signed it is not there',
    )
  })
})
