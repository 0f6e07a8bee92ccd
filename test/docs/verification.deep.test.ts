import { execFile, execFileSync, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { COMMANDS } from '#cli/commands.ts'
import { runCheckpointRound } from '#integrity/checkpoint-schedule.ts'
import type { Sealing } from '#integrity/checkpoints.ts'
import { exportLines } from '#integrity/verify.ts'
import { deliveryHeaders } from '#webhooks/sender.ts'
import { startApi, type TestApi, type TestCompany } from '../support/api.ts'
import { useDatabase } from '../support/database.ts'
import { openCounter } from '../support/offline-sales.ts'
import { snippetsOf } from '../support/snippets.ts'

const NOW = 1_795_259_835
const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
const BODY = '{"event":"customer.created","data":{"name":"Conceição"}}'

/** How the printed function is called from the environment, and the program that runs it. */
const LANGUAGES = {
  csharp: {
    program: ['dotnet', 'run', 'Verify.cs'],
    check: ['dotnet', '--version'],
    frame: (text: string) =>
      text.replace(
        'static bool',
        `string Of(string name) => Environment.GetEnvironmentVariable(name)!;
var sent = new[] { "webhook-id", "webhook-timestamp", "webhook-signature" }.ToDictionary(name => name, name => Of(name.Replace('-', '_')));
Console.Write(IsAuthentic(sent, Encoding.UTF8.GetBytes(Of("body")), Of("secret"), DateTimeOffset.FromUnixTimeSeconds(long.Parse(Of("now")))).ToString().ToLower());

static bool`,
      ),
  },
  java: {
    program: ['java', 'Verify.java'],
    check: ['java', '-version'],
    frame: (text: string) =>
      text.replace(
        'final class Signatures {',
        `final class Signatures {
    public static void main(String[] none) throws Exception {
        Map<String, String> env = System.getenv();
        Map<String, String> sent = Map.of("webhook-id", env.get("webhook_id"), "webhook-timestamp", env.get("webhook_timestamp"), "webhook-signature", env.get("webhook_signature"));
        System.out.print(isAuthentic(sent, env.get("body").getBytes(StandardCharsets.UTF_8), env.get("secret"), Long.parseLong(env.get("now"))));
    }`,
      ),
  },
  python: {
    program: ['python3', 'verify.py'],
    check: ['python3', '--version'],
    frame: (text: string) => `${text}
import os
sent = {name: os.environ[name.replace("-", "_")] for name in ("webhook-id", "webhook-timestamp", "webhook-signature")}
print(str(is_authentic(sent, os.environb[b"body"], os.environ["secret"], float(os.environ["now"]))).lower(), end="")
`,
  },
  php: {
    program: ['php', 'verify.php'],
    check: ['php', '--version'],
    frame: (text: string) => `${text}
foreach (['webhook-id', 'webhook-timestamp', 'webhook-signature'] as $name) $sent[$name] = getenv(str_replace('-', '_', $name));
echo is_authentic($sent, getenv('body'), getenv('secret'), (int) getenv('now')) ? 'true' : 'false';
`,
  },
} as const

describe('the printed check of a signature', function () {
  this.timeout(300_000)
  const snippets = snippetsOf('docs/webhooks.md').filter(({ heading }) => heading === 'Verify in other languages')

  for (const [language, { program, check, frame }] of Object.entries(LANGUAGES)) {
    if (spawnSync(check[0], check.slice(1), { stdio: 'ignore' }).status !== 0) {
      console.log(`skipped, because there is no ${check[0]}: the printed check in ${language}`)
      continue
    }
    it(`in ${language} takes a delivery, and refuses forged, altered and old ones [HOOK-840]`, async () => {
      const folder = await mkdtemp(join(tmpdir(), 'tillbook-verify-'))
      try {
        const text = snippets.find((each) => each.language === language)?.text ?? ''
        await writeFile(join(folder, program.at(-1) as string), frame(text))
        const delivery = { id: 'x', event: 'customer.created', revision: 1, sequence: 1, body: BODY }
        const rotating = {
          secret: SECRET,
          next_secret: `whsec_${'A'.repeat(43)}=`,
          switch_at: '2999-01-01T00:00:00.000Z',
        }
        const sent = deliveryHeaders(delivery as never, rotating, NOW * 1000) as Record<string, string>
        const verdict = (changed: Record<string, string> = {}) =>
          execFileSync(program[0], program.slice(1), {
            cwd: folder,
            encoding: 'utf8',
            env: {
              ...process.env,
              DOTNET_NOLOGO: 'true',
              DOTNET_CLI_TELEMETRY_OPTOUT: 'true',

              LC_ALL: 'C.UTF-8',
              webhook_id: sent['webhook-id'] as string,
              webhook_timestamp: sent['webhook-timestamp'] as string,
              webhook_signature: sent['webhook-signature'] as string,
              body: BODY,
              secret: ` ${SECRET}\n`,
              now: String(NOW + 10),
              ...changed,
            },
          })
        expect(verdict()).to.equal('true')
        expect(verdict({ webhook_id: 'y' })).to.equal('false')
        expect(verdict({ body: `${BODY} ` })).to.equal('false')
        expect(verdict({ now: String(NOW + 302) })).to.equal('false')
        expect(verdict({ webhook_timestamp: '9'.repeat(30) })).to.equal('false')
        expect(verdict({ webhook_signature: 'v1,' })).to.equal('false')
      } finally {
        await rm(folder, { recursive: true, force: true })
      }
    })
  }
})

const VERIFIER = 'verifier/tillbook-verify.mjs'
const HAS_PYTHON = spawnSync('python3', ['-c', '']).status === 0

describe('auditor guide', () => {
  const database = useDatabase()
  let api: TestApi
  let company: TestCompany
  let directory: string
  let lines: string[]
  let vkey: string

  const save = (name: string, text: string) => writeFile(join(directory, name), text)
  const answerOf = async (path: string) => JSON.stringify((await company.get(path)).body)

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'tillbook-auditors-'))
    api = await startApi(database.url)
    company = await api.company()
    const first = await company.post('/customers', { name: 'Cliente' })
    expect(first.status).to.equal(201)
    const kept = await answerOf('/events/checkpoint?fresh=true')
    await save('checkpoint-kept.json', kept)
    for (const [n, notes] of ['Ana\u2028"\\/', 'São João 😀', '\u007f<>&'].entries())
      expect((await company.post('/customers', { name: `Cliente ${n}`, notes })).status).to.equal(201)
    const counter = await openCounter(company)
    const [sold, cancelled] = [await counter.sell(), await counter.sell()]
    expect((await company.post(`/sales/${cancelled.id}/cancel`, { reason: 'Desistência' })).status).to.equal(200)
    for (const { id } of [sold, cancelled])
      await save(`receipt-${id}.json`, (await company.get(`/sales/${id}/receipt`)).text)
    lines = []
    for await (const line of exportLines(api.core.store, company.id, 0)) lines.push(line)
    const sealing = api.core.sealing as Sealing
    const failed: unknown[] = []
    await runCheckpointRound(sealing, {
      onSealed: () => {},
      onError: (error: unknown) => failed.push(error),
    })
    expect(failed).to.deep.equal([])
    const ring = await (await fetch(`${api.url}/proof/keys`)).text()
    vkey = JSON.parse(ring).keys[0].log_vkey
    await save('keys.json', ring)
    await save('checkpoint.json', await answerOf('/events/checkpoint'))
    await save('place.json', await answerOf('/events/checkpoint/place'))
    await save(
      'consistency.json',
      await answerOf(`/events/consistency?from=${JSON.parse(kept).data.size}&to=${lines.length}`),
    )
    await save('export.jsonl', lines.join(''))
  })
  after(async () => {
    await api.close()
    await rm(directory, { recursive: true })
  })

  /** Runs a verifier, which shares no code with the service, on all files except `without`. */
  async function verify(command: readonly string[], without: readonly string[] = []) {
    const files = (await readdir(directory))
      .filter((name) => !without.includes(name))
      .map((name) => join(directory, name))
    const [program = '', ...args] = [...command, '--key', vkey, ...files]
    return new Promise<{ code: number; stdout: string }>((resolve) => {
      execFile(program, args, (error, stdout) => resolve({ code: Number(error?.code ?? 0), stdout }))
    })
  }

  for (const command of [
    [process.execPath, VERIFIER, '--json'],
    ...(HAS_PYTHON ? [['python3', 'test/integrity/proofs/verify.py']] : []),
  ])
    it(`names a verifier that verifies exports of a service: ${command[1]} [PROOF-80] [PROOF-82]`, async () => {
      const { code, stdout } = await verify(command)
      const { verdict, items } = JSON.parse(stdout)
      expect(verdict, stdout).to.equal('sound')
      expect(code).to.equal(0)
      const kinds = items.map(({ kind }: { kind: string }) => kind).sort()
      expect(kinds).to.deep.equal([
        ...['checkpoint', 'checkpoint', 'consistency', 'export', 'keys', 'place', 'receipt', 'receipt'],
      ])
      const forged = (lines[1] ?? '').replace('"origin":"', '"origin":"x')
      for (const [text, found] of [
        [lines.with(1, forged), 'wrong_hash'],
        [lines.toSpliced(1, 1), 'wrong_revision'],
        [lines.slice(0, -1), 'truncated'],
      ] as const) {
        await save('export.jsonl', text.join(''))
        const wrong = await verify(command)
        expect(wrong.code).to.equal(1)
        expect(wrong.stdout).to.include(found)
      }
      await save('export.jsonl', lines.join(''))
    })

  if (!HAS_PYTHON) it.skip('names a format with an independent verifier: skipped without python3 [PROOF-82]')

  it('names a verifier that every service serves, with the documented digest [PROOF-83]', async () => {
    const answer = await fetch(`${api.url}/tillbook-verify.mjs`)
    const bytes = Buffer.from(await answer.arrayBuffer())
    expect(bytes.equals(readFileSync(VERIFIER))).to.equal(true)
    const digest = createHash('sha256').update(bytes)
    expect(answer.headers.get('Repr-Digest')).to.equal(`sha-256=:${digest.copy().digest('base64')}:`)
    expect(answer.headers.get('Content-Type')).to.include('text/javascript')
    expect(readFileSync('docs/proof.md', 'utf8')).to.include(`${digest.digest('hex')}  tillbook-verify.mjs`)
    expect((await fetch(`${api.url}/tillbook-verify.mjs`, { method: 'POST' })).status).to.equal(405)
  })

  it('shows existing commands [OPS-17]', () => {
    const shown = [...readFileSync('docs/auditors.md', 'utf8').matchAll(/tillbook -- ledger ([a-z-]+)/g)]
    const verbs = Object.keys(COMMANDS)
    for (const [, verb] of shown) expect(verbs).to.include(`ledger ${verb}`)
    for (const verb of ['verify', 'seal', 'public-key', 'export', 'history', 'as-of'])
      expect(shown.map(([, name]) => name)).to.include(verb)
  })
})
