import { once } from 'node:events'
import { mkdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import * as z from 'zod'
import { serveWitness } from '#demo/witness/server.ts'
import { openWitness } from '#demo/witness/witness.ts'
import { invalid } from '#domain/refusal.ts'
import { parseVkey, type VerifierKey, vkeyOf } from '#integrity/proofs/note.ts'
import { portOf, Refused, type Verbs } from './verb.ts'

const DEFAULT_PORT = '4001'
const DEFAULT_NAME = 'witness.tillbook.example/demo'

const NAME = /^[^\s+]+$/u

const Keys = z.object({ keys: z.array(z.object({ log_vkey: z.string() })) })

/** Runs until it is stopped. */
export const verbs: Verbs<'witness'> = {
  witness: {
    async run({ config }, { log, url = config.PUBLIC_URL, port = DEFAULT_PORT, name = DEFAULT_NAME, file }) {
      const listening = portOf(port)
      const path = file ?? join(config.DATA_DIR, 'witness.json')
      const logs = keysOf(log === undefined ? await vkeysOf(url) : log.split('\n'))
      await mkdir(dirname(path), { recursive: true })
      if (!NAME.test(name)) throw new Refused(invalid('name', 'não pode ter espaços nem o sinal de mais'))
      const witness = await openWitness({ file: path, name, logs, now: () => new Date() })
      const running = await serveWitness(witness, listening)
      process.stdout.write(`${[...new Set(logs.map((key) => key.name))].map((each) => `cosigns ${each}\n`).join('')}`)
      process.stdout.write(`WITNESS_URLS="${running.url} ${vkeyOf(witness.key)}"\n`)
      await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')])
      await running.close()
      return undefined
    },
  },
}

function keysOf(vkeys: readonly string[]): VerifierKey[] {
  return vkeys.map((vkey) => {
    const key = parseVkey(vkey)
    if (!key) throw new Refused(invalid('log', `não é uma chave de verificação: ${vkey}`))
    return key
  })
}

/** Public keys that a running service publishes. */
async function vkeysOf(url: string): Promise<string[]> {
  const answer = await fetch(`${url}/proof/keys`).catch(() => null)
  const keys = answer?.ok ? Keys.safeParse(await answer.json()) : null
  if (!keys?.success || keys.data.keys.length === 0)
    throw new Refused(invalid('log', `informe-a: em ${url} não há um serviço que já tenha selado`))
  return keys.data.keys.map(({ log_vkey }) => log_vkey)
}
