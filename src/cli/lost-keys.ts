import { invalid } from '#domain/refusal.ts'
import { countMissingKeys, declareKeysLost } from '#ledger/rebuild/lost-keys.ts'
import { companyIdFrom, Refused, type Verbs } from './verb.ts'

const CONFIRM = 'confirme com --yes que as chaves estão perdidas: o que elas selaram fica vazio para sempre'

const printLine = (line: string): void => {
  process.stderr.write(`${line}\n`)
}

export const verbs: Verbs<'person lost-keys'> = {
  'person lost-keys': {
    async run(context, { company, yes }) {
      const { core, companyId } = await companyIdFrom(context, company)
      const { keys, persons } = await countMissingKeys(core, companyId)
      if (keys > 0) printLine(`ops.person_keys lacks ${keys} keys of ${persons} persons`)
      if (keys > 0 && yes === undefined) throw new Refused(invalid('yes', CONFIRM))
      const lost_keys = keys > 0 ? await declareKeysLost(core, companyId) : 0
      const takes_writes = await core.unblock(companyId)
      if (!takes_writes)
        printLine('tables of the company no longer match its ledger: run "tillbook projections rebuild"')
      return { company_id: companyId, lost_keys, takes_writes }
    },
    isBad: (result) => !(result as { takes_writes: boolean }).takes_writes,
  },
}
