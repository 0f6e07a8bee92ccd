import { once } from 'node:events'
import { join } from 'node:path'
import { readDemoFile } from '#demo/companies/access.ts'
import { sandboxHelp } from '#demo/provider-sandbox/control.ts'
import { startSandbox } from '#demo/provider-sandbox/server.ts'
import { portOf, type Verbs } from './verb.ts'

const DEFAULT_PORT = '4000'

/** Runs until it is stopped; prints every notification and its answer. */
export const verbs: Verbs<'provider-sandbox'> = {
  'provider-sandbox': {
    async run({ config }, { port = DEFAULT_PORT, secret }) {
      const sandbox = await startSandbox({
        port: portOf(port),
        secret: secret ?? null,
        storeSecrets: await demoSecrets(config.DATA_DIR),
        log: (line) => process.stdout.write(`${line}\n`),
      })
      process.stdout.write(sandboxHelp(sandbox.url))
      await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')])
      await sandbox.close()
      return undefined
    },
  },
}

/** Notification secrets of the demonstration stores, so that their notifications are valid without configuration. */
async function demoSecrets(dataDir: string): Promise<Record<string, string>> {
  const demo = await readDemoFile(join(dataDir, 'demo.json'))
  const stores = demo?.companies.flatMap(({ store }) => store ?? []) ?? []
  return Object.fromEntries(stores.map(({ alias, notification_secret }) => [alias, notification_secret]))
}
