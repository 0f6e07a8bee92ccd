import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import * as sql from './floor-statements.ts'
import { LINES } from './requests.ts'
import { ITEMS, type Shop, TIME_ZONE } from './shop.ts'

const execute = promisify(execFile)

/** Each run opens new connections: prepared statements and caches are missing in its first seconds. */
const WARM_UP_SECONDS = 2

/** Floor B: pgbench runs floor A's statements as a script, without JavaScript, HTTP, JSON and hashing. */
export interface FloorB {
  /** @returns transactions, and transactions per second. */
  run(connections: number, seconds: number): Promise<{ done: number; perSecond: number }>
  stop(): Promise<void>
}

export const hasPgbench = (): Promise<boolean> =>
  execute('pgbench', ['--version']).then(
    () => true,
    () => false,
  )

/** `event` and `sale` are texts like those of floor A, for the same number of bytes. */
export async function prepareFloorB(
  databaseUrl: string,
  shops: readonly Shop[],
  event: string,
  sale: string,
): Promise<FloorB> {
  const directory = await mkdtemp(join(tmpdir(), 'tillbook-pgbench-'))
  const script = join(directory, 'sale.sql')
  await writeFile(script, scriptOf(shops))
  const variables = {
    event,
    sale,
    answer: JSON.stringify({ data: JSON.parse(sale) }),
    hash: 'f'.repeat(64),
    zone: TIME_ZONE,
  }
  const definitions = Object.entries(variables).flatMap(([name, value]) => ['-D', `${name}=${value}`])
  return {
    async run(connections, seconds) {
      const load = ['-c', String(connections), '-j', '2', '-T', String(WARM_UP_SECONDS + seconds), '--progress=1']
      const args = ['--no-vacuum', '--protocol=prepared', '--file', script, ...definitions, ...load, databaseUrl]
      const env = { ...process.env, PGOPTIONS: '-c search_path=floor -c TimeZone=UTC' }
      const { stdout, stderr } = await execute('pgbench', args, { env, timeout: (seconds + 60) * 1000 })
      const perSecond = [...stderr.matchAll(/^progress: .* ([\d.]+) tps/gm)]
        .slice(WARM_UP_SECONDS)
        .map((line) => Number(line[1]))
      const done = /actually processed: (\d+)/.exec(stdout)?.[1]
      if (done === undefined || perSecond.length === 0)
        throw new Error(`pgbench printed no figures:\n${stdout}${stderr}`)
      return { done: Number(done), perSecond: perSecond.reduce((sum, each) => sum + each, 0) / perSecond.length }
    },
    stop: () => rm(directory, { recursive: true, force: true }),
  }
}

/**
 * pgbench computes with integers only: companies are derived from a shop's position, records have equal ids in each,
 * and texts are made by Postgres.
 */
function scriptOf(shops: readonly Shop[]): string {
  const [first] = shops as [Shop]
  assertRegular(shops, first)
  return `
\\set shop random(0, ${shops.length - 1})
\\set secret ${first.companyId} + :shop
\\set card ${first.cardId}
\\set item ${first.items[0]?.id} + random(0, ${ITEMS - LINES})
begin;
${fill(sql.findKey, 'sha256((:secret)::bigint::text::bytea)')} \\gset
${fill(sql.countCall, ':company_id', ':zone')} \\gset
${fill(sql.lockLedger, ':company_id')} \\gset
${fill(sql.findAnswer, ':company_id', KEY)};
${fill(sql.findItems, ':company_id', ITEM_IDS)};
${fill(sql.findPaymentTypes, ':company_id', 'array[:card]::bigint[]')};
${fill(sql.insertEvent, STREAM, REVISION, 'gen_random_uuid()', SUBJECT, 'now()', ':event')};
${fill(sql.insertSale, ':company_id', ':sale_id', KEY, 'null', 'now()', '1000', REVISION, 'now()', ':sale')};
${fill(sql.takeStock, ':company_id', ITEM_IDS, `array[${ones()}]::numeric[]`, 'now()', REVISION)};
${fill(sql.insertAnswer, ':company_id', KEY, ':hash', '201', ':answer', 'now()')};
${fill(sql.advanceLedger, ':company_id', REVISION, ':hash', 'now()')};
commit;
`
}

const KEY = `concat('pgbench-', (:sale_id)::bigint)`
const STREAM = `concat('company-', (:company_id)::bigint)`
const SUBJECT = `concat('sale/', (:sale_id)::bigint)`
const REVISION = '(:revision)::bigint + 1'
const ITEM_IDS = `array[${Array.from({ length: LINES }, (_, line) => `(:item)::bigint + ${line}`).join(', ')}]`
const ones = (): string => Array.from({ length: LINES }, () => '1.000').join(', ')

/** Replaces the parameters of a statement by expressions. */
function fill({ text }: sql.Statement, ...expressions: string[]): string {
  return text.replace(/\$(\d)(::\w+\[\])?/g, (_, number) => expressions[Number(number) - 1] as string)
}

function assertRegular(shops: readonly Shop[], first: Shop): void {
  for (const [place, shop] of shops.entries()) {
    const isNext = shop.companyId === first.companyId + place && shop.cardId === first.cardId
    const start = first.items[0]?.id ?? 0
    if (!isNext || shop.items.some((item, index) => item.id !== start + index))
      throw new Error('the ids of the shops have gaps')
  }
}
