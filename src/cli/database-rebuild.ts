import { invalid } from '#domain/refusal.ts'
import { rebuildDatabase } from '#service/rebuild-database.ts'
import { Refused, type Verbs } from './verb.ts'

/** Data outside the ledgers; docs/operations/eventstoredb.md describes what to do about each. */
const LOSSES = `The database is rebuilt from the event store. Data that only the lost one had is gone:
  - API keys, passwords, sessions, tokens of tills, links of invitations
  - keys of persons, unless ops.person_keys is restored from a backup first: without them names, documents,
    addresses, e-mails and contacts in the ledgers can never be decrypted
  - secrets of webhooks, access tokens and notification secrets of stores
  - pending webhook deliveries and sequence numbers; stored answers of the last 24 hours; refused offline sales; logs`

const CONFIRM = 'confirme com --yes que o que só o banco perdido tinha está perdido'

export const verbs: Verbs<'database rebuild'> = {
  'database rebuild': {
    async run({ config, addresses, progress }, { yes, 'without-keys': withoutKeys }) {
      const { EVENTSTORE_URL: eventStoreUrl } = config
      if (eventStoreUrl === undefined)
        throw new Refused(invalid('EVENTSTORE_URL', 'os livros das empresas estão nesse banco: restaure um backup'))
      process.stderr.write(`${LOSSES}\n`)
      if (yes === undefined) throw new Refused(invalid('yes', CONFIRM))
      progress.begin('events', null)
      const { core, report } = await rebuildDatabase({
        ...(await addresses()),
        config,
        eventStoreUrl,
        withoutKeys: withoutKeys !== undefined,
        tell: progress.tell,
        onApplied: progress.add,
      })
      await core.close()
      return report
    },
  },
}
