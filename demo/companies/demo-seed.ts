import { randomBytes } from 'node:crypto'
import { mkdir, readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import * as z from 'zod'
import { hashKey, KEY_BYTES, newKey, toKeyMode } from '#access/api-authenticator.ts'
import { hashPassword, verifyPassword } from '#access/passwords.ts'
import { createCategory } from '#commands/catalog-commands.ts'
import { registerCompany } from '#commands/company-commands.ts'
import { replaceItem } from '#commands/item-commands.ts'
import { replaceCustomer } from '#commands/person-commands.ts'
import { CreateStoreInput, createPaymentType, createStore } from '#commands/store-commands.ts'
import { changePassword, createUser } from '#commands/user-commands.ts'
import { createApiKey, revokeApiKey } from '#commands/webhook-commands.ts'
import { type Config, WrongSetting } from '#config/config.ts'
import { computeKeyDigit } from '#domain/fiscal-values.ts'
import { addDays, dateInZone } from '#domain/instant.ts'
import { bareTaxNumber } from '#domain/person-values.ts'
import { parseScopes } from '#domain/rights.ts'
import { escapeHtml } from '#domain/text.ts'
import { type Command, isRefusal } from '#ledger/command.ts'
import { runAsSystem } from '#ledger/write/run.ts'
import { writeFileAtomically } from '#lib/files.ts'
import { withAdvisoryLock } from '#postgres/transaction.ts'
import type { StoreObject } from '#projections/stores.ts'
import type { UserObject } from '#projections/users.ts'
import { findStore, listStores } from '#queries/company-queries.ts'
import { fullReader } from '#queries/reader.ts'
import type { Core } from '#service/core.ts'
import { DEMO_COMPANIES, type DemoCompany } from './demo-companies.ts'
import { fillMonth } from './demo-month.ts'

/** A line of a made NF-e, in texts of the layout. */
export interface NfeXmlLine {
  readonly cProd: string
  readonly xProd: string
  readonly cEAN?: string
  readonly cEANTrib?: string
  readonly uCom?: string
  readonly qCom: string
  readonly uTrib?: string
  readonly qTrib?: string
  readonly vUnCom?: string
  readonly vProd: string
  readonly vDesc?: string
  readonly vFrete?: string
  readonly vSeg?: string
  readonly vOutro?: string
  readonly vIPI?: string
  readonly vICMSST?: string
}

export interface NfeXmlOptions {
  readonly buyer: string
  readonly lines: readonly NfeXmlLine[]
  /** Due day (none: null) and amount of each instalment. */
  readonly bills?: readonly (readonly [due: string | null, amount: string])[]
  readonly seller?: string
  readonly number?: number
  readonly issuedOn?: string
  readonly cStat?: string
  readonly model?: string
  readonly version?: string
  readonly test?: boolean
}

const SELLER = '11444777000161'

const element = (name: string, text: string | undefined): string =>
  text === undefined ? '' : `<${name}>${escapeHtml(text)}</${name}>`

function lineXml(line: NfeXmlLine, at: number): string {
  const { cProd, xProd, cEAN = 'SEM GTIN', cEANTrib = cEAN, uCom = 'UN', qCom, vProd, vUnCom = vProd } = line
  const { uTrib = uCom, qTrib = qCom, vFrete, vSeg, vDesc, vOutro, vIPI, vICMSST } = line
  const product = Object.entries({
    ...{ cProd, cEAN, xProd, NCM: '21069090', CFOP: '5405', uCom, qCom, vUnCom, vProd },
    ...{ cEANTrib, uTrib, qTrib, vUnTrib: vUnCom, vFrete, vSeg, vDesc, vOutro, indTot: '1' },
  })
  const icms = `<ICMS><ICMS10><orig>0</orig><CST>10</CST>${element('vICMSST', vICMSST)}</ICMS10></ICMS>`
  const ipi =
    vIPI === undefined ? '' : `<IPI><cEnq>999</cEnq><IPITrib><CST>50</CST>${element('vIPI', vIPI)}</IPITrib></IPI>`
  const prod = product.map(([name, text]) => element(name, text)).join('')
  return `<det nItem="${at + 1}"><prod>${prod}</prod><imposto>${icms}${ipi}</imposto></det>`
}

/** XML of an authorized NF-e of a made-up supplier, with a valid access key and without a signature. */
export function createNfeXml(options: NfeXmlOptions): { readonly xml: string; readonly accessKey: string } {
  const { buyer, lines, bills = [], seller = SELLER, number = 1234, issuedOn = '2026-01-10' } = options
  const { cStat = '100', model = '55', version = '4.00', test = false } = options
  const issued = `${issuedOn.slice(2, 4)}${issuedOn.slice(5, 7)}`
  const begin = `35${issued}${seller}${model}001${String(number).padStart(9, '0')}100001234`
  const accessKey = begin + computeKeyDigit(begin)
  const ide = `<ide><cUF>35</cUF><mod>${model}</mod><serie>1</serie><nNF>${number}</nNF><dhEmi>${issuedOn}T09:30:00-03:00</dhEmi><tpNF>1</tpNF><tpAmb>${test ? 2 : 1}</tpAmb></ide>`
  const emit = `<emit><CNPJ>${seller}</CNPJ><xNome>Atacado São Jorge &amp; Filhos Ltda</xNome><xFant>Atacado São Jorge</xFant></emit>`
  const dest = `<dest><CNPJ>${bareTaxNumber(buyer)}</CNPJ><xNome>Loja</xNome></dest>`
  const dups = bills.map(
    ([due, amount], at) =>
      `<dup><nDup>${String(at + 1).padStart(3, '0')}</nDup>${due === null ? '' : element('dVenc', due)}${element('vDup', amount)}</dup>`,
  )
  const cobr = dups.length === 0 ? '' : `<cobr>${dups.join('')}</cobr>`
  const note = `<infNFe versao="${version}" Id="NFe${accessKey}">${ide}${emit}${dest}${lines.map(lineXml).join('')}${cobr}</infNFe>`
  const proof = `<protNFe versao="${version}"><infProt><tpAmb>1</tpAmb><chNFe>${accessKey}</chNFe><nProt>135260000000001</nProt><cStat>${cStat}</cStat></infProt></protNFe>`
  const space = 'xmlns="http://www.portalfiscal.inf.br/nfe"'
  const xml = `<?xml version="1.0" encoding="UTF-8"?><nfeProc ${space} versao="${version}"><NFe ${space}>${note}</NFe>${proof}</nfeProc>`
  return { xml, accessKey }
}

/** Goods for the first demonstration company: known by GTIN, boxes to be converted, and one that is new. */
const writeDemoNfe = (path: string, buyer: string, today: string): Promise<void> =>
  writeFileAtomically(
    path,
    createNfeXml({
      buyer,
      issuedOn: addDays(today, -1),
      lines: [
        {
          cProd: '1001',
          xProd: 'CAFE TORRADO MOIDO 500G',
          cEAN: '7890000010078',
          qCom: '20.0000',
          vProd: '240.00',
          vICMSST: '8.40',
        },
        {
          ...{ cProd: '2040', xProd: 'GUARANA PET 2L CX C/6', cEANTrib: '7890000010498', uCom: 'CX', qCom: '8.0000' },
          ...{ uTrib: 'UN', qTrib: '48.0000', vProd: '297.60', vFrete: '12.00', vIPI: '4.80' },
        },
        { cProd: '3300', xProd: 'BISCOITO AGUA E SAL 400G', qCom: '24.0000', vProd: '103.20', vDesc: '7.20' },
      ],
      bills: [
        [addDays(today, 27), '329.40'],
        [addDays(today, 57), '329.40'],
      ],
    }).xml,
  )

const access = z.object({
  id: z.number(),
  name: z.string(),
  /** Has all scopes. */
  api_key: z.string(),
  read_only_key: z.string(),
  user: z.object({ email: z.string(), password: z.string() }),
  /** Signing secret of its notifications; null without a store. */
  store: z.object({ alias: z.string(), notification_secret: z.string() }).nullable(),
})

const file = z.object({ base_url: z.string(), companies: z.array(access) })

/** Credentials of a demonstration company. */
export type DemoAccess = z.infer<typeof access>

/** demo.json: the only place with these keys and passwords in clear (OPS-3). */
export type DemoFile = z.infer<typeof file>

/** Content of the file; null if it is missing or invalid. */
export async function readDemoFile(path: string): Promise<DemoFile | null> {
  try {
    return file.parse(JSON.parse(await readFile(path, 'utf8')))
  } catch {
    return null
  }
}

/** First demonstration company. @throws WrongSetting if DATA_DIR has no demonstration data. */
export async function demoCompany({ DATA_DIR }: Pick<Config, 'DATA_DIR'>): Promise<DemoAccess> {
  const path = join(DATA_DIR, 'demo.json')
  const company = (await readDemoFile(path))?.companies[0]
  if (!company)
    throw new WrongSetting(`DATA_DIR should be that of a service with demo data (npm start): ${path} not found`)
  return company
}

/** Writes the file, and creates its folder if needed. */
async function writeDemoFile(path: string, content: DemoFile): Promise<void> {
  await mkdir(dirname(path), { recursive: true })
  await writeFileAtomically(path, `${JSON.stringify(content, null, 2)}\n`)
}

const PASSWORD_BYTES = 12

const KEYS = {
  api_key: { name: 'Demonstração', scopes: parseScopes('all') ?? [] },
  read_only_key: { name: 'Demonstração (somente leitura)', scopes: parseScopes('read') ?? [] },
} as const

/**
 * Keys and password of a demonstration company. Those of `known` are kept while they work. Others are replaced, because
 * demo.json is the only copy.
 */
async function ensureAccess(
  core: Core,
  companyId: number,
  demo: DemoCompany,
  known: DemoAccess | undefined,
): Promise<DemoAccess> {
  const { email } = demo.user
  const { rows } = await core.pool.query<{ name: string }>(
    `select doc->>'name' as name from companies where company_id = $1`,
    [companyId],
  )
  return {
    id: companyId,
    name: rows[0]?.name ?? '',
    api_key: await ensureKey(core, companyId, 'api_key', known?.api_key),
    read_only_key: await ensureKey(core, companyId, 'read_only_key', known?.read_only_key),
    user: { email, password: await ensurePassword(core, companyId, email, known?.user.password) },
    store: await ensureStore(core, companyId, demo.store),
  }
}

async function ensureKey(
  core: Core,
  companyId: number,
  kind: keyof typeof KEYS,
  known: string | undefined,
): Promise<string> {
  const { name, scopes } = KEYS[kind]
  const live = await liveKeys(core, companyId, name)
  if (known !== undefined && live.some(({ hash }) => hash.equals(hashKey(known)))) return known
  for (const { id } of live) await runAsSystem(core.writer, companyId, revokeApiKey, { id })
  const { key, prefix, hash } = newKey(randomBytes(KEY_BYTES), toKeyMode(true))
  const created = await runAsSystem<object>(core.writer, companyId, createApiKey, {
    name,
    scopes: [...scopes],
    prefix,
    hash,
  })
  if (!isRefusal(created)) return key
  // The limit of five active keys is used up by other keys, which a user created on purpose.
  if (known !== undefined) return known
  throw new Error(`demo: no key can be created for company ${companyId} (${created.refused}); revoke one of its keys`)
}

async function liveKeys({ pool }: Core, companyId: number, name: string) {
  const { rows } = await pool.query<{ id: number; hash: Buffer }>(
    `select k.id, s.hash
     from api_keys k join ops.api_key_secrets s on s.company_id = k.company_id and s.api_key_id = k.id
     where k.company_id = $1 and k.doc->>'name' = $2 and k.revoked_at is null and (k.expires_at is null or k.expires_at > now())
     order by k.id`,
    [companyId, name],
  )
  return rows
}

async function ensurePassword(
  { pool, writer }: Core,
  companyId: number,
  email: string,
  known: string | undefined,
): Promise<string> {
  const { rows } = await pool.query<{ id: number; password_hash: string | null }>(
    `select u.id, p.password_hash from users u left join ops.persons p on p.email = u.email
     where u.company_id = $1 and u.email = $2`,
    [companyId, email],
  )
  if (!rows[0]) throw new Error(`demo: user ${email} not found`)
  const { id, password_hash } = rows[0]
  if (known !== undefined && (await verifyPassword(password_hash, known))) return known
  const password = randomBytes(PASSWORD_BYTES).toString('base64url')
  const input = { id, password_hash: await hashPassword(password) }
  const changed = await runAsSystem<UserObject>(writer, companyId, changePassword, input)
  if (isRefusal(changed)) throw new Error(`demo: password of ${email} not changed: ${changed.refused}`)
  return password
}

const SECRET_BYTES = 24

const newSecret = (): string => randomBytes(SECRET_BYTES).toString('base64url')

/** Online store of a demonstration company; created if it has no sandbox store with a notification secret. */
async function ensureStore(core: Core, companyId: number, wanted: DemoCompany['store']): Promise<DemoAccess['store']> {
  if (!wanted) return null
  const known = await knownStore(core, companyId)
  if (known) return known
  // Another company may use the alias: the second try appends the company id.
  for (const alias of [wanted.alias, `${wanted.alias}-${companyId}`]) {
    const notification_secret = newSecret()
    // Valid at the sandbox provider only.
    const secrets = { access_token: `TEST-${newSecret()}`, notification_secret }
    const input = CreateStoreInput.parse({ ...wanted, alias, sandbox: true, ...secrets })
    const created = await runAsSystem<StoreObject, CreateStoreInput>(core.writer, companyId, createStore, input)
    if (!isRefusal(created)) return { alias, notification_secret }
    if (created.refused !== 'duplicate_resource') throw new Error(`demo: store refused: ${created.refused}`)
  }
  throw new Error(`demo: aliases for a store of company ${companyId} are all taken`)
}

/** The company's first sandbox store with a secret. Production stores are never shown. */
async function knownStore({ pool, vault }: Core, companyId: number): Promise<DemoAccess['store']> {
  for (const { alias, sandbox } of await listStores(fullReader(pool, companyId))) {
    const store = sandbox ? await findStore(pool, vault, alias) : null
    if (store?.notificationSecret) return { alias, notification_secret: store.notificationSecret }
  }
  return null
}

/** Advisory lock: of two processes that start together, the second finds everything done. */
const DEMO_LOCK = 'tillbook demo companies'
/** Below the statement time-out of a pool, one minute. */
const LOCK_WAIT_MS = 50_000

interface SeedOptions {
  readonly baseUrl: string
  readonly demoFile: string
  /** Instant (UTC) until which the first company has sold for a month; it has no sales if absent. */
  readonly soldUntil?: string | undefined
}

/**
 * Creates the demonstration companies once per database, and writes their credentials to demo.json. Each part is
 * created only if missing, so that the next start completes an interrupted one. Does nothing if the database has
 * companies but no seed, as after a rebuild from an event store. Returns whether demo.json is valid.
 */
export function seedDemo(core: Core, { baseUrl, demoFile, soldUntil }: SeedOptions): Promise<boolean> {
  return withAdvisoryLock(core.pool, { key: DEMO_LOCK, wait_ms: LOCK_WAIT_MS }, async (session) => {
    const { rowCount: foreign } = await session.query(
      'select from companies where not exists (select from ops.demo_companies) limit 1',
    )
    if (foreign) return false
    const known = await readDemoFile(demoFile)
    const companies = []
    for (const [index, demo] of DEMO_COMPANIES.entries()) {
      const companyId = await ensureCompany(core, index + 1, demo)
      const access = known?.companies.find((company) => company.id === companyId)
      // It may have moved to another installation.
      const { rowCount: isOpen } = await session.query(
        'select from ops.ledgers where company_id = $1 and closed_at is null',
        [companyId],
      )
      if (!isOpen) {
        if (access) companies.push(access)
        continue
      }
      const ensured = await ensureAccess(core, companyId, demo, access)
      companies.push(ensured)
      if (soldUntil !== undefined && index === 0) {
        const { cnpj, timezone } = demo.company
        await writeDemoNfe(join(dirname(demoFile), 'nfe.xml'), cnpj, dateInZone(soldUntil, timezone))
        await fillMonth(core, companyId, { demo, store: ensured.store?.alias ?? null, now: soldUntil })
      }
    }
    await writeDemoFile(demoFile, { base_url: baseUrl, companies })
    return true
  })
}

/** Company at a position of demo.json; its records are created on the first call only. */
async function ensureCompany(core: Core, place: number, demo: DemoCompany): Promise<number> {
  const { pool } = core
  await pool.query(
    `insert into ops.demo_companies (place, company_id) select $1, nextval('ops.company_ids')
     where not exists (select from ops.demo_companies where place = $1)`,
    [place],
  )
  const { rows } = await pool.query<{ company_id: number; seeded: boolean }>(
    'select company_id, seeded_at is not null as seeded from ops.demo_companies where place = $1',
    [place],
  )
  const { company_id: companyId, seeded } = rows[0] as { company_id: number; seeded: boolean }
  if (seeded) return companyId
  await fill(core, companyId, demo)
  await pool.query('update ops.demo_companies set seeded_at = now() where place = $1', [place])
  return companyId
}

async function fill(core: Core, companyId: number, demo: DemoCompany): Promise<void> {
  /** Concurrent, to share a commit; in order, so that ids are in order. */
  const run = <I>(command: Command<I>, inputs: readonly I[]) =>
    Promise.all(inputs.map((input) => accepted(core, companyId, command, input)))
  await core.found(companyId)
  await run(registerCompany, [{ id: companyId, ...demo.company, test: true }])
  const known = await knownNames(core, companyId)
  await run(
    createPaymentType,
    demo.paymentTypes.filter((type) => !known.paymentTypes.has(type.name)),
  )
  await run(
    createCategory,
    demo.categories.filter((category) => !known.categories.has(category.external_id)),
  )
  const { categories, emails } = await knownNames(core, companyId)
  await run(
    replaceItem,
    demo.items.map(({ category = '', ...item }) => ({ ...item, category_id: categories.get(category) ?? null })),
  )
  await run(replaceCustomer, demo.customers)
  if (emails.has(demo.user.email)) return
  // Discarded; ensurePassword sets a password that is written to demo.json.
  const password_hash = await hashPassword(randomBytes(32).toString('base64url'))
  await run(createUser, [{ ...demo.user, role: 'owner', password_hash }])
}

async function accepted<I>({ writer }: Core, companyId: number, command: Command<I>, input: I): Promise<void> {
  const answer = await runAsSystem<object>(writer, companyId, command, input)
  if (isRefusal(answer)) throw new Error(`demo: data refused: ${JSON.stringify(answer)}`)
}

/** Existing records of commands that are not idempotent. */
async function knownNames({ pool }: Core, companyId: number) {
  const [types, categories, users] = await Promise.all([
    pool.query<{ name: string }>(`select doc->>'name' as name from payment_types where company_id = $1`, [companyId]),
    pool.query<{ id: number; external_id: string }>('select id, external_id from categories where company_id = $1', [
      companyId,
    ]),
    pool.query<{ email: string }>(`select doc->>'email' as email from users where company_id = $1`, [companyId]),
  ])
  return {
    paymentTypes: new Set(types.rows.map((row) => row.name)),
    categories: new Map(categories.rows.map((row) => [row.external_id, row.id])),
    emails: new Set(users.rows.map((row) => row.email)),
  }
}
