import { execFileSync, spawnSync } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import type { Served } from '#demo/serve-locally.ts'
import { type Authority, openAuthority, serveAuthority } from '#demo/time-stamp-authority.ts'
import { createTimeStampAuthority } from '#integrity/attestor-settings.ts'
import { AttestorFailed } from '#integrity/attestors.ts'
import { formatCheckpoint } from '#integrity/checkpoint.ts'
import { verifyStamp } from '#integrity/time-stamp-token.ts'
import { createLog, never, useOutside } from './log.ts'

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
