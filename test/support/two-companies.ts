import { expect } from 'chai'
import { accept, type Command, command, isRefusal, type NewEvent } from '#ledger/command.ts'
import { ensureLedger } from '#ledger/ledgers.ts'
import type { Answer } from '#ledger/write/idempotency.ts'
import { runCommand } from '#ledger/write/run.ts'
import { type EncodedText, toText } from '#lib/fair-sharing.ts'
import type { Core } from '#service/core.ts'
import { companyRegistered } from './facts.ts'
import { COMPANY_ID } from './given.ts'
import { openTestCore } from './test-core.ts'

/** Another company on the same database; its records must never be visible. */
export const OTHER_COMPANY_ID = COMPANY_ID + 1

/** The ledger and read model of two companies in a real database. */
export interface TwoCompanies {
  readonly core: Core
  /** Records events unchanged, with one time, in the ledger of a company. */
  record(events: readonly NewEvent[], companyId?: number): Promise<Answer>
  /** Runs a command that must succeed. */
  run<I>(command: Command<I>, input: I): Promise<Answer>
}

/** Accepts any events, so that a test can start from any history. */
const recordEvents = command<readonly NewEvent[]>({
  needs: () => [],
  decide: (_rows, events) => accept('created', events[0]?.subject ?? '', events),
})

/** Opens the core on a fresh database and registers both companies. */
export async function openTwoCompanies(url: string): Promise<TwoCompanies> {
  const core = await openTestCore(url)
  const run = async <I>(companyId: number, command: Command<I>, input: I): Promise<Answer> => {
    const acting = { companyId, origin: 'api', actor: null, requestId: null } as const
    const answer = await runCommand(core.writer, acting, command, input)
    if (isRefusal(answer)) throw new Error(`refused: ${JSON.stringify(answer)}`)
    return answer
  }
  const shop: TwoCompanies = {
    core,
    record: (events, companyId = COMPANY_ID) => run(companyId, recordEvents, events),
    run: (command, input) => run(COMPANY_ID, command, input),
  }
  for (const id of [COMPANY_ID, OTHER_COMPANY_ID]) {
    await ensureLedger(core.pool, id)
    await shop.record([companyRegistered({ id })], id)
  }
  return shop
}

/** JSON text of the records of a page. */
export function dataOf(page: object): string {
  expect(page).to.have.property('data')
  return toText((page as { data: EncodedText }).data)
}

/** The records of a page, parsed. */
export const recordsOf = (page: object): Record<string, unknown>[] => JSON.parse(`[${dataOf(page)}]`)

export const idsOf = (page: object): unknown[] => recordsOf(page).map((record) => record.id)
